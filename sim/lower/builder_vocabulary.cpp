// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/cost/memory.hpp"
#include "sim/lower/builder.hpp"

/// The output layer cut along the vocabulary over the ranks of the pipeline (Yeung et al., arXiv
/// 2411.05288): every rank has an equal share of it as passes S and T.
namespace paceline::sim {

/// The last stage keeps its layers only. Each rank holds a share of the output layer beside its
/// stages; it is the last of its StageWork and stands for no stage.
void StepBuilder::make_vocabulary(const Program& program) {
  for (const Pass& pass : program.passes) {
    if (side_of(pass.name) == SidePass::VocabularyForward) shared_vocabulary_ = true;
    for (const Read& read : pass.reads) {
      early_gradient_ = early_gradient_ ||
                        (pass.direction == Direction::Up &&
                         side_of(program.passes[read.pass].name) == SidePass::VocabularyForward);
    }
  }
  if (shared_vocabulary_) plan_.stages.back().head = false;
}

StageWork StepBuilder::vocabulary_share() const {
  const models::StateBytes bytes = models::state_bytes(s_);
  models::Stage whole;
  whole.head = true;
  StageWork work;
  work.parameters.all = models::stage_parameters(s_, whole) / s_.parallel.pp;
  work.memory = models::stage_memory(s_, plan_, whole);
  for (double* part : {&work.memory.parameters, &work.memory.gradients, &work.memory.optimizer,
                       &work.memory.logits})
    *part /= s_.parallel.pp;
  work.gather_bytes.dense = work.parameters.all * bytes.weight;
  work.reduce_bytes.dense = work.parameters.all * models::element_bytes(s_.stack.gradient_reduce);
  return work;
}

PassCost StepBuilder::vocabulary_cost(int rank, Role role) const {
  return end_cost(context(rank, 0), true, role, {}, s_.parallel.pp);
}

TaskId StepBuilder::add_vocabulary(const ActionContext& action, SidePass side) {
  const bool forward = side == SidePass::VocabularyForward;
  const int rank = rank_of(action.lane);
  const auto& context = rank_context_[static_cast<std::size_t>(rank)];
  const int first = static_cast<int>(
      std::find(rank_context_.begin(), rank_context_.end(), context) - rank_context_.begin());
  const auto [found, fresh] = side_segments_.try_emplace(
      {forward ? "vocabulary S" : "vocabulary T", first, 0, 0}, std::uint16_t{0});
  if (fresh) {
    const PassCost cost = vocabulary_cost(rank, forward ? Role::Forward : Role::Backward);
    found->second = add_segment(graph_, forward ? "S" : "T", cost);
    Segment& segment = graph_.segments[found->second];
    const std::size_t rank_index = static_cast<std::size_t>(rank);
    const double logits = work_[first_held_[rank_index + 1] - 1].memory.logits;
    if (forward) {
      segment.at_start.push_back({MemoryPart::Logits, logits});
    } else {
      segment.at_finish.push_back({MemoryPart::Logits, -logits});
    }
  }
  return add(task_of(action, TaskKind::Action, Stream::Compute, found->second), action.inputs);
}

}  // namespace paceline::sim
