// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/resolved.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

namespace paceline::models {
namespace {

using base::unit_text;

/// Lines of "key: value" with two-space nesting; text values are always quoted.
class Lines {
 public:
  void open(const std::string& key) {
    add(key + ":");
    ++depth_;
  }
  void close() { --depth_; }
  void raw(const std::string& key, const std::string& value) { add(key + ": " + value); }
  void text(const std::string& key, std::string_view value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c == '\n' || c == '\t' ? ' ' : c;
    }
    raw(key, quoted + "\"");
  }
  void number(const std::string& key, double value) { raw(key, base::shortest(value)); }
  void number(const std::string& key, std::int64_t value) { raw(key, std::to_string(value)); }
  void flag(const std::string& key, bool value) { raw(key, value ? "true" : "false"); }
  std::string take() { return std::move(out_); }

 private:
  void add(const std::string& line) {
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
    out_ += line + "\n";
  }
  std::string out_;
  int depth_ = 0;
};

void write_model(Lines& lines, const Model& m) {
  lines.open("model");
  lines.text("name", m.name);
  lines.text("family", m.family);
  lines.number("hidden", m.hidden);
  lines.number("layers", static_cast<std::int64_t>(m.layers.size()));
  lines.number("vocab", m.vocab);
  lines.number("parameters", total_parameters(m));
  if (!m.kinds.empty()) {
    const Layer& layer = m.kinds[0];
    lines.number("heads", layer.attention.heads);
    lines.number("kv_heads", layer.attention.kv_heads);
    lines.number("head_dim", layer.attention.head_dim);
    lines.number("ffn", layer.mlp.width);
    lines.flag("gated", layer.mlp.gated);
  }
  lines.close();
}

void write_cluster(Lines& lines, const Cluster& c) {
  lines.open("cluster");
  lines.text("name", c.name);
  for (const NodeGroup& g : c.groups) {
    lines.open("group");
    lines.text("device", g.device.name);
    lines.text("profile", g.device.profile);
    lines.number("nodes", std::int64_t{g.nodes});
    lines.number("devices_per_node", std::int64_t{g.devices_per_node});
    for (const Level& level : g.levels) {
      lines.raw("level", "{size: " + std::to_string(level.size) + ", link: " + level.link.name +
                             ", bandwidth: " + unit_text(level.link.bandwidth) + "}");
    }
    if (g.ports_per_node > 0) {
      lines.raw("network", "{link: " + g.network.name +
                               ", ports: " + std::to_string(g.ports_per_node) +
                               ", bandwidth: " + unit_text(g.network.bandwidth) + "}");
    }
    lines.close();
  }
  lines.number("oversubscription", c.oversubscription);
  lines.close();
}

void write_stack(Lines& lines, const Stack& s) {
  lines.open("stack");
  lines.text("preset", s.name);
  lines.text("nccl", s.nccl);
  lines.raw("switches", std::string("{norm: ") + (s.norm == NormKernel::Fused ? "fused" : "eager") +
                            ", dropout: " + (s.dropout ? "true" : "false") +
                            ", sharded_logits: " + (s.sharded_logits ? "true" : "false") +
                            ", tp_overlap: " + std::to_string(static_cast<int>(s.tp_overlap)) +
                            ", dp_overlap: " + std::to_string(static_cast<int>(s.dp_overlap)) +
                            ", p2p_blocking: " + (s.p2p_blocking ? "true" : "false") + "}");
  for (const StackNumber& n : s.numbers) lines.number(n.name, n.value);
  lines.close();
}

void write_layout(Lines& lines, const Scenario& s) {
  const Parallel& p = s.parallel;
  lines.open("parallel");
  for (const auto& [key, value] : {std::pair{"tp", p.tp},
                                   {"pp", p.pp},
                                   {"cp", p.cp},
                                   {"dp", p.dp},
                                   {"ep", p.ep},
                                   {"etp", p.etp},
                                   {"zero", p.zero},
                                   {"shard", p.shard}}) {
    lines.number(key, std::int64_t{value});
  }
  std::string order;
  for (const std::string& axis : p.order) order += (order.empty() ? "" : "-") + axis;
  lines.text("order", order);
  lines.flag("sequence_parallel", p.sequence_parallel);
  lines.text("context", to_text(p.context));
  if (!p.stage_layers.empty()) {
    std::string list;
    for (const int n : p.stage_layers) list += (list.empty() ? "" : ", ") + std::to_string(n);
    lines.raw("stage_layers", "[" + list + "]");
  }
  lines.close();
  lines.open("schedule");
  lines.text("name", s.schedule.name);
  lines.number("chunks", std::int64_t{s.schedule.chunks});
  lines.close();
  lines.open("batch");
  lines.number("global", s.batch.global);
  lines.number("micro", s.batch.micro);
  lines.number("sequence", s.batch.sequence);
  lines.close();
}

}  // namespace

std::string_view to_text(Recompute recompute) {
  switch (recompute) {
    case Recompute::None:
      return "none";
    case Recompute::Selective:
      return "selective";
    case Recompute::Full:
      return "full";
    case Recompute::Blockwise:
      return "blockwise";
  }
  return "";
}

std::string_view to_text(ContextParallel context) {
  return context == ContextParallel::Ring ? "ring" : "all-gather";
}

std::string resolved_text(const Scenario& s) {
  Lines lines;
  lines.text("name", s.name);
  write_model(lines, s.model);
  write_cluster(lines, s.cluster);
  write_stack(lines, s.stack);
  write_layout(lines, s);
  lines.text("precision", to_text(s.precision));
  lines.text("recompute", to_text(s.recompute));
  if (s.recompute == Recompute::Blockwise) {
    lines.number("recompute_layers", std::int64_t{s.recompute_layers});
  }
  lines.text("attention", s.attention);
  lines.raw("optimizer", "{name: " + s.optimizer.name +
                             ", master: " + std::string(to_text(s.optimizer.master)) +
                             ", states: " + std::string(to_text(s.optimizer.states)) + "}");
  if (s.costs) {
    lines.raw("costs", "{forward: " + unit_text(s.costs->forward) +
                           ", input_gradient: " + unit_text(s.costs->input_gradient) +
                           ", weight_gradient: " + unit_text(s.costs->weight_gradient) +
                           ", hop: " + unit_text(s.costs->hop) + "}");
  }
  if (s.run_tokens > 0) lines.raw("run", "{tokens: " + base::shortest(s.run_tokens) + "}");
  return lines.take();
}

}  // namespace paceline::models
