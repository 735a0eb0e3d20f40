// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/resolved.hpp"

#include <algorithm>
#include <cctype>

#include "base/json.hpp"
#include "base/text.hpp"
#include "models/scenario/documents.hpp"

namespace paceline::models {
namespace {

using base::Value;

std::string quoted_text(std::string_view text) {
  base::JsonWriter json(0);
  std::string quoted = json.value(text).finish();
  quoted.pop_back();  // the final newline
  return quoted;
}

/// Plain words may stand without quotes; anything else is quoted as JSON quotes it.
std::string scalar_text(const Value& value) {
  if (value.kind == Value::Kind::Null) return "null";
  const std::string& text = value.text;
  const bool quantity = !value.quoted && !text.empty();
  bool plain = quantity;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    plain = plain && (std::isalnum(u) != 0 || c == '-' || c == '.' || c == '/' || c == '_' ||
                      c == '+' || c == ' ');
  }
  if (plain && text.front() != ' ' && text.front() != '-' && text.back() != ' ') return text;
  return quoted_text(text);
}

std::string flow_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null:
    case Value::Kind::Scalar:
      return scalar_text(value);
    case Value::Kind::List: {
      std::string out = "[";
      for (const Value& item : value.items) out += (out.size() > 1 ? ", " : "") + flow_text(item);
      return out + "]";
    }
    case Value::Kind::Map: {
      std::string out = "{";
      for (const base::Field& field : value.fields) {
        out += (out.size() > 1 ? ", " : "") + field.key + ": " + flow_text(field.value);
      }
      return out + "}";
    }
  }
  return "";
}

/// Sets what the user left out; what is there stays.
void fill(base::Document& document, const std::string& path, const std::string& value) {
  if (base::find_path(document.root, path) == nullptr) base::set_path(document, path, value);
}

/// `schedule: 1f1b` and the like become maps, so that defaults have a place.
void expand_name(base::Document& document, const std::string& key, const std::string& name) {
  const Value* value = base::find_path(document.root, key);
  if (value != nullptr && value->kind == Value::Kind::Map) return;
  base::set_path(document, key, "{name: " + quoted_text(name) + "}");
}

/// A method alone stays one: the answers of before there were orders keep their hashes. `at` as
/// below.
void fill_context(base::Document& document, const std::string& at, const Parallel& p) {
  const ContextTraits& traits = p.context.method->traits;
  const std::string key = at + "context";
  const Value* value = base::find_path(document.root, key);
  if (value == nullptr || value->kind == Value::Kind::Scalar) {
    const std::string name(p.context.method->name);
    const bool placed = p.cp > 1 && traits.inner;
    base::set_path(document, key, placed ? "{method: " + name + "}" : name);
    if (!placed) return;
  }
  fill(document, key + ".method", std::string(p.context.method->name));
  if (!traits.contiguous) fill(document, key + ".order", std::string(p.context.order->name));
  if (traits.inner) fill(document, key + ".inner", std::to_string(p.context.inner));
  if (traits.chunks) fill(document, key + ".chunks", std::to_string(p.context.chunks));
}

void fill_lengths(base::Document& document, const std::string& at, const Documents& d) {
  fill(document, at + "seed", std::to_string(d.seed));
  fill(document, at + "steps", std::to_string(d.steps));
  if (d.kind != DocumentKind::Lognormal && d.kind != DocumentKind::LongTail) return;
  fill(document, at + "shortest", std::to_string(d.shortest));
  fill(document, at + "longest", std::to_string(d.longest));
}

void fill_documents(base::Document& document, const Documents& d) {
  fill(document, "batch.documents.packing", std::string(to_text(d.packing)));
  fill_lengths(document, "batch.documents.", d);
}

/// `at`: "parallel.", or that of a module.
void fill_parallel(base::Document& document, const std::string& at, const Scenario& s) {
  const Parallel& p = s.parallel;
  for (const auto& [key, value] :
       {std::pair{"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"dp", p.dp}, {"zero", p.zero}}) {
    fill(document, at + key, std::to_string(value));
  }
  if (has_experts(s.model)) {
    fill(document, at + "ep", std::to_string(p.ep));
    fill(document, at + "etp", std::to_string(p.etp));
    fill(document, "moe.dispatcher", std::string(to_text(s.moe.dispatcher)));
    fill(document, "moe.imbalance", std::string(to_text(s.moe.imbalance.law)));
    fill(document, "moe.overlap", s.moe.overlap ? "1f1b" : "none");
  }
  std::string order;
  for (const std::string& axis : p.order) order += (order.empty() ? "" : "-") + axis;
  fill(document, at + "order", order);
  fill(document, at + "sequence_parallel", p.sequence_parallel ? "true" : "false");
  fill_context(document, at, p);
}

void fill_module(base::Document& document, const std::string& at, const Module& m) {
  fill_parallel(document, at + "parallel.", *m.view);
  fill(document, at + "first_rank", std::to_string(m.view->parallel.first_rank));
  fill(document, at + "tokens", std::to_string(m.view->batch.sequence));
  fill(document, at + "micro", std::to_string(m.micro));
  fill(document, at + "frozen", m.view->frozen ? "true" : "false");
  if (m.feeds < 0) return;
  fill(document, at + "sends", std::to_string(m.sent_tokens));
  fill(document, at + "width", std::to_string(m.width));
  if (m.host < 0) fill(document, at + "ahead", std::to_string(m.ahead));
  if (m.host < 0) return;
  fill(document, at + "turns", m.turns == Turns::WholeBatch ? "whole-batch" : "each-microbatch");
}

void fill_layout(base::Document& document, const Scenario& s) {
  if (s.modules.empty()) fill_parallel(document, "parallel.", s);
  for (std::size_t i = 0; i < s.modules.size(); ++i)
    fill_module(document, "model.modules." + std::to_string(i) + ".", s.modules[i]);
  expand_name(document, "schedule", s.schedule.name);
  fill(document, "schedule.chunks", std::to_string(s.schedule.chunks));
  fill(document, "schedule.dispatch", "fixed");
  fill(document, "batch.micro", std::to_string(s.batch.micro));
  if (s.batch.documents) fill_documents(document, *s.batch.documents);
  if (s.batch.samples) fill_lengths(document, "batch.samples.", s.batch.samples->lengths);
}

/// Values that count but stand in specs, for the hash: a changed spec is a changed question.
class Digest {
 public:
  void add(std::string_view text) { (out_ += text) += ';'; }
  void add(double value) { add(base::shortest(value)); }
  void add(std::int64_t value) { add(std::to_string(value)); }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

void digest_model(Digest& d, const Model& m) {
  for (const std::int64_t n : {m.hidden, m.vocab, m.positions, m.embedding_dim}) d.add(n);
  d.add(std::int64_t{m.tied} + 2 * std::int64_t{m.rotary} + 4 * static_cast<std::int64_t>(m.norm));
  for (const Layer& layer : m.kinds) {
    const Attention& a = layer.attention;
    if (!a.causal) d.add("whole");
    if (a.subsequences > 1) d.add(a.subsequences);
    if (a.absorbed) d.add("absorbed");
    for (const std::int64_t n : {a.heads, a.kv_heads, a.head_dim, a.value_dim, a.window, a.q_rank,
                                 a.kv_rank, layer.mlp.width, layer_parameters(m, layer)}) {
      d.add(n);
    }
    d.add(std::int64_t{layer.mlp.gated} + 2 * static_cast<std::int64_t>(layer.mlp.activation));
    const Experts& e = layer.experts;
    if (e.count == 0) continue;
    for (const std::int64_t n : {e.count, e.per_token, e.width, e.shared_width}) d.add(n);
  }
  for (const int kind : m.layers) d.add(std::int64_t{kind});
  if (m.prediction_layers > 0) d.add(std::int64_t{m.prediction_layers});
}

/// Nothing for clusters that state no fabric: their hashes are those of before there were any.
void digest_fabric(Digest& d, const FabricSpec& f) {
  if (f.kind.empty()) return;
  d.add(f.kind);
  for (const int n : {f.nodes_per_leaf, f.spines, f.groups, f.routers_per_group, f.nodes_per_router,
                      f.links_per_pair, f.dims[0], f.dims[1], f.dims[2]}) {
    d.add(std::int64_t{n});
  }
  for (const double x :
       {f.oversubscription, f.local.value, f.global.value, f.switch_latency.value}) {
    d.add(x);
  }
  const auto changes = [&](const std::vector<RateChange>& list) {
    for (const RateChange& c : list) {
      d.add(c.at.value);
      d.add(c.bandwidth.value);
    }
  };
  for (const SiteSpec& site : f.sites) {
    d.add(std::int64_t{site.nodes});
    d.add(std::int64_t{site.zone});
    d.add(site.uplink.value);
    d.add(site.uplink_latency.value);
    digest_fabric(d, site.inside);
  }
  for (const WanLink& link : f.wan) {
    d.add(std::int64_t{link.from});
    d.add(std::int64_t{link.to});
    for (const double x : {link.bandwidth.value, link.latency.value, link.cap_per_flow}) d.add(x);
    changes(link.changes);
  }
  for (const WireFault& fault : f.faults) {
    d.add(fault.wire + (fault.broken ? " broken" : ""));
    changes(fault.changes);
  }
}

void digest_pcie(Digest& d, const PcieTree& tree) {
  for (const Link* link : {&tree.slot, &tree.root_port, &tree.sockets}) {
    d.add(link->rate().value);
    d.add(link->latency.value);
  }
  for (const auto* list : {&tree.device_switch, &tree.nic_switch, &tree.switch_socket}) {
    for (const int n : *list) d.add(std::int64_t{n});
  }
}

void digest_machine(Digest& d, const Scenario& s) {
  digest_fabric(d, s.cluster.fabric);
  d.add(s.cluster.oversubscription);
  d.add(std::int64_t{s.cluster.nodes_per_switch});
  for (const NodeGroup& g : s.cluster.groups) {
    for (const auto& rate : g.device.matrix_rate) d.add(rate.value);
    d.add(g.device.memory.value);
    d.add(g.device.memory_bandwidth.value);
    for (const std::int64_t n :
         {g.device.multiprocessors, g.nodes, g.devices_per_node, g.ports_per_node}) {
      d.add(n);
    }
    for (const Level& level : g.levels) {
      d.add(std::int64_t{level.size});
      d.add(level.link.bandwidth.value * level.link.efficiency);
    }
    d.add(g.network.bandwidth.value * g.network.efficiency);
    d.add(g.network.latency.value);
    if (g.pcie) digest_pcie(d, *g.pcie);
  }
}

void digest_constants(Digest& d, const Scenario& s) {
  for (const Profile& p : s.profiles) {
    d.add(p.name);
    for (const GemmLaw& law : p.gemm) {
      d.add(law.sustained);
      d.add(law.wave_overhead.value);
    }
    for (const double v :
         {p.overlap_loss, p.memory_efficiency, p.batched_gemm, p.unaligned_gemm, p.launch.value}) {
      d.add(v);
    }
    if (!p.inputs.empty()) d.add(base::hash_text(profile_json(p)));  // measured: all of it
    for (const AttentionCurve& curve : p.attention) {
      for (const AttentionPoint& point : curve.points)
        d.add(point.forward.value + point.backward.value);
    }
  }
  const Stack& k = s.stack;
  d.add(k.nccl);
  for (const std::int64_t choice :
       {static_cast<std::int64_t>(k.norm), static_cast<std::int64_t>(k.accumulation),
        static_cast<std::int64_t>(k.gradient_reduce), static_cast<std::int64_t>(k.loss),
        static_cast<std::int64_t>(k.tp_overlap), static_cast<std::int64_t>(k.dp_overlap),
        static_cast<std::int64_t>(k.partition)}) {
    d.add(choice);
  }
  std::string flags;
  for (const bool flag :
       {k.fused_rotary, k.dropout, k.fused_bias_dropout, k.fused_activation, k.sharded_logits,
        k.recompute_stops_early, k.zero_all_reduce, k.keeps_stage_outputs, k.p2p_blocking,
        k.p2p_scatter_gather, k.blocking_launch}) {
    flags += flag ? '1' : '0';
  }
  d.add(flags);
  for (const StackNumber& number : k.numbers) {
    d.add(number.name);
    d.add(number.value);
  }
}

/// Logs lie outside the scenario; only what they measured counts.
void digest_logs(Digest& d, const Scenario& s) {
  if (s.collectives.logs == nullptr) return;
  for (const MeasuredLog& m : s.collectives.logs->logs) {
    for (const std::int64_t n : {static_cast<int>(m.log.op), m.log.ranks, m.log.nodes}) d.add(n);
    for (const CurvePoint& p : m.curve.points) {
      d.add(p.x);
      d.add(p.y);
    }
  }
}

/// Traces may lie outside the scenario.
void digest_traces(Digest& d, const Scenario& s) {
  if (!s.jitter) return;
  for (const JitterLaw* law : {&s.jitter->compute, &s.jitter->links}) {
    for (const double factor : law->trace) d.add(factor);
  }
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

std::string resolved_text(const base::Document& document, const Scenario& s) {
  base::Document full = document;
  fill(full, "name", quoted_text(s.name));
  fill(full, "stack", quoted_text(s.stack.name));
  fill_layout(full, s);
  fill(full, "precision", std::string(to_text(s.precision)));
  fill(full, "recompute", s.choose_recompute ? "auto" : std::string(to_text(s.recompute)));
  fill(full, "attention", quoted_text(s.attention));
  expand_name(full, "optimizer", s.optimizer.name);
  fill(full, "optimizer.master",
       s.optimizer.keeps_master ? std::string(to_text(s.optimizer.master)) : "none");
  fill(full, "optimizer.states", std::string(to_text(s.optimizer.states)));
  if (const OptimizerOffload& o = s.optimizer.offload; o.host()) {
    fill(full, "optimizer.cpu_rate", base::shortest(o.cpu_rate));
    fill(full, "optimizer.beside_backward", o.beside_backward ? "true" : "false");
    fill(full, "optimizer.gradients", std::string(to_text(o.gradients)));
    fill(full, "optimizer.subgroups", std::to_string(o.subgroups));
    fill(full, "optimizer.device_share", base::shortest(o.device_share));
  }
  if (s.jitter) {
    fill(full, "jitter.seed", std::to_string(s.jitter->seed));
    fill(full, "jitter.repetitions", std::to_string(s.jitter->repetitions));
  }
  std::string out;
  for (const base::Field& field : full.root.fields) {
    out += field.key + ": " + flow_text(field.value) + "\n";
  }
  return out;
}

std::string scenario_hash(const Scenario& s) {
  Digest digest;
  if (s.modules.empty()) digest_model(digest, s.model);
  for (const Module& m : s.modules) digest_model(digest, m.view->model);
  digest_machine(digest, s);
  digest_constants(digest, s);
  digest_logs(digest, s);
  if (!s.schedule.file.empty()) digest.add(s.schedule.file_text);
  digest_traces(digest, s);
  if (s.batch.documents)
    for (const std::int64_t length : s.batch.documents->lengths) digest.add(length);
  if (s.batch.samples)
    for (const std::int64_t length : s.batch.samples->lengths.lengths) digest.add(length);
  return base::hash_text(s.resolved + digest.text());
}

}  // namespace paceline::models
