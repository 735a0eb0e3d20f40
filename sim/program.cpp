// SPDX-License-Identifier: Apache-2.0
#include "sim/program.hpp"

namespace paceline::sim {
namespace {

std::string_view reach_suffix(Reach reach) {
  switch (reach) {
    case Reach::Same:
      return "";
    case Reach::First:
      return "@first";
    case Reach::Last:
      return "@last";
    case Reach::All:
      return "@all";
  }
  return "";
}

void append_reads(std::string& text, const Pass& pass, const Program& program) {
  for (std::size_t i = 0; i < pass.reads.size(); ++i) {
    const Read& read = pass.reads[i];
    text += (i == 0 ? " reads " : ",") + program.passes.at(read.pass).name;
    text += reach_suffix(read.reach);
    if (read.where_present) text += '?';
  }
}

void append_pass(std::string& text, const Pass& pass, const Program& program) {
  text += "pass " + pass.name + " " + std::string(to_text(pass.direction));
  append_reads(text, pass, program);
  for (std::size_t i = 0; i < pass.frees.size(); ++i) {
    text += (i == 0 ? " frees " : ",") + program.passes.at(pass.frees[i]).name;
  }
  if (pass.slices != Direction::None) text += " slices " + std::string(to_text(pass.slices));
  if (pass.first_stage != 0 || pass.last_stage >= 0) {
    const int last = pass.last_stage >= 0 ? pass.last_stage : program.stages - 1;
    text += " stages " + std::to_string(pass.first_stage) + "-" + std::to_string(last);
  }
  text += pass.sparse ? " sparse\n" : "\n";
}

void append_node(std::string& text, const StageNode& node, std::size_t stage) {
  text += "stage " + std::to_string(stage);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    text += (i == 0 ? " from " : ",") + std::to_string(node.inputs[i]);
  if (node.span != 1) text += " span " + std::to_string(node.span);
  if (node.ahead != 0) text += " ahead " + std::to_string(node.ahead);
  text += node.backward ? "\n" : " forward-only\n";
}

}  // namespace

std::string_view to_text(Direction d) {
  switch (d) {
    case Direction::Down:
      return "down";
    case Direction::Up:
      return "up";
    case Direction::None:
      return "local";
  }
  return "local";
}

std::string_view to_text(Weights weights) {
  switch (weights) {
    case Weights::Latest:
      return "latest";
    case Weights::Stash:
      return "stash";
    case Weights::Delayed:
      return "delayed";
  }
  return "latest";
}

std::string to_text(const Action& action, const Program& program) {
  std::string text = std::to_string(action.stage) + program.passes.at(action.pass).name +
                     std::to_string(action.microbatch);
  if (action.slice != 0) text.append(".").append(std::to_string(action.slice));
  return text;
}

std::string to_text(const Program& program) {
  std::string text = "program stages=" + std::to_string(program.stages) +
                     " microbatches=" + std::to_string(program.microbatches) +
                     " slices=" + std::to_string(program.slices);
  if (program.weights != Weights::Latest)
    text += " weights=" + std::string(to_text(program.weights));
  if (program.pooled) text += " pooled=1";
  if (program.skips) text += " skips=1";
  if (program.gather_unit > 0) text += " gather_unit=" + std::to_string(program.gather_unit);
  text += "\n";
  for (const Pass& pass : program.passes) append_pass(text, pass, program);
  for (std::size_t stage = 0; stage < program.nodes.size(); ++stage)
    append_node(text, program.nodes[stage], stage);
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    text += "rank " + std::to_string(rank) + ":";
    bool inside = false;
    for (const Action& action : program.order[rank]) {
      text += inside ? "&" : action.fused ? " (" : " ";
      text += to_text(action, program);
      if (inside && !action.fused) text += ")";
      inside = action.fused;
    }
    text += "\n";
  }
  return text;
}

}  // namespace paceline::sim
