// SPDX-License-Identifier: Apache-2.0
#include "models/parallel/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "models/workload/layer_ops.hpp"

namespace paceline::models {
namespace {

using base::Error;

/// "1, 2, 4, 5, 8": the smallest divisors of n, for messages.
std::string divisors(std::int64_t n, std::size_t limit = 12) {
  std::vector<std::int64_t> found, large;
  for (std::int64_t d = 1; d <= n / d && found.size() < limit; ++d) {
    if (n % d != 0) continue;
    found.push_back(d);
    if (d != n / d) large.push_back(n / d);
  }
  found.insert(found.end(), large.rbegin(), large.rend());
  found.resize(std::min(found.size(), limit));
  std::string out;
  for (const std::int64_t d : found) out += (out.empty() ? "" : ", ") + std::to_string(d);
  return out;
}

void must_divide(const Scenario& s, const std::string& key, std::int64_t divisor,
                 std::int64_t total, const std::string& what) {
  if (total % divisor == 0) return;
  throw Error(where(s, key),
              std::to_string(divisor) + " does not divide " + std::to_string(total) + " " + what,
              "try " + divisors(total));
}

/// Every rank holds a share of the experts, and of each expert's matrices; both are cut over the
/// ranks of a stage.
void check_experts(const Scenario& s, const Experts& experts) {
  if (experts.per_token < 1 || experts.per_token > experts.count)
    throw Error(where(s, "model"),
                "a token goes to " + std::to_string(experts.per_token) + " of " +
                    std::to_string(experts.count) + " experts",
                "between 1 and all of them");
  must_divide(s, "parallel.ep", s.parallel.ep, experts.count, "experts");
  must_divide(s, "parallel.etp", s.parallel.etp, experts.width, "(expert width)");
  const std::int64_t ranks = std::int64_t{s.parallel.tp} * s.parallel.cp * s.parallel.dp;
  const std::int64_t share = std::int64_t{s.parallel.ep} * s.parallel.etp;
  if (ranks % share == 0) return;
  throw Error(where(s, "parallel.ep"),
              "ep*etp = " + std::to_string(share) + " does not divide the " +
                  std::to_string(ranks) + " ranks of a stage (tp*cp*dp)",
              "change ep or etp");
}

void check_layers(const Scenario& s) {
  for (const Layer& layer : s.model.kinds) {
    if (layer.experts.count > 0) check_experts(s, layer.experts);
    must_divide(s, "parallel.tp", s.parallel.tp, layer.attention.heads, "attention heads");
    must_divide(s, "parallel.tp", s.parallel.tp, layer.mlp.width, "(MLP width)");
    const std::int64_t kv = layer.attention.kv_heads;
    if (kv > 0 && kv % s.parallel.tp != 0 && s.parallel.tp % kv != 0) {
      throw Error(where(s, "parallel.tp"),
                  std::to_string(s.parallel.tp) + " neither divides " + std::to_string(kv) +
                      " key/value heads nor is a multiple",
                  "try " + divisors(kv));
    }
  }
}

/// Every rank takes as many pieces of the sequence as the order deals it.
void check_order(const Scenario& s) {
  const ContextOrder& order = *s.parallel.context.order;
  const std::int64_t chunks = std::int64_t{order.pieces} * s.parallel.cp;
  if (order.pieces == 0 || s.batch.sequence % chunks == 0) return;
  throw Error(
      where(s, "parallel.cp"),
      (order.pieces == 2 ? "2*cp = " : "cp = ") + std::to_string(chunks) +
          " chunks do not divide " + std::to_string(s.batch.sequence) + " tokens of batch.sequence",
      "try " +
          (s.batch.sequence % order.pieces == 0 ? divisors(s.batch.sequence / order.pieces) : "1"));
}

/// Where heads are dealt over ranks each computes whole ones; of keys with fewer heads there are
/// copies.
void check_dealt_heads(const Scenario& s, const Attention& a) {
  const ContextChoice& context = s.parallel.context;
  const std::int64_t ranks = context.head_ranks(s.parallel.cp);
  const std::int64_t heads = a.heads / s.parallel.tp;
  const std::string method(context.method->name);
  if (heads % ranks != 0) {
    const char* key = context.method->traits.inner ? "inner" : "cp";
    throw Error(where(s, "parallel.context"),
                method + " cannot deal " + std::to_string(heads) +
                    " heads of a tensor-parallel rank over " + key + " = " + std::to_string(ranks) +
                    " ranks",
                std::string("try ") + key + " = " + divisors(heads) + ", or usp");
  }
  const std::int64_t kv = std::max<std::int64_t>(a.kv_heads / s.parallel.tp, 1);
  if (kv % ranks != 0 && ranks % kv != 0) {
    throw Error(where(s, "parallel.context"),
                method + " cannot deal " + std::to_string(kv) + " key/value heads over " +
                    std::to_string(ranks) + " ranks",
                "try a divisor or a multiple: " + divisors(kv));
  }
  if (heads / ranks % context.chunks != 0) {
    throw Error(where(s, "parallel.context"),
                std::to_string(context.chunks) + " chunks do not divide the " +
                    std::to_string(heads / ranks) + " heads of a rank",
                "try " + divisors(heads / ranks));
  }
}

void check_context(const Scenario& s) {
  if (s.parallel.cp == 1) return;
  check_order(s);
  const ContextTraits& traits = s.parallel.context.method->traits;
  for (const Layer& layer : s.model.kinds) {
    if (traits.heads) check_dealt_heads(s, core_of(layer.attention));
    if (s.parallel.context.method == context_method("distflash") && !layer.attention.causal) {
      throw Error(where(s, "parallel.context"), "distflash needs causal attention",
                  "ring or ulysses");
    }
    const bool stores = stores_scores(s.attention);
    if (stores && s.parallel.context.method != context_method("ring") &&
        s.parallel.context.method != context_method("all-gather")) {
      throw Error(where(s, "parallel.context"),
                  std::string(s.parallel.context.method->name) + " needs a flash kernel, not " +
                      s.attention,
                  "ring or all-gather, or another attention");
    }
  }
  const ScheduleTraits* schedule = schedule_traits(s.schedule.name);
  const bool slices = schedule != nullptr && (schedule->takes & kTakesSlices) != 0;
  if (!traits.slices && slices && s.schedule.options.slices != 1) {
    throw Error(where(s, "parallel.context"),
                std::string(s.parallel.context.method->name) + " cannot compute slices",
                "ring, or a schedule without slices");
  }
}

/// What packs of documents cannot be combined with.
void check_documents(const Scenario& s) {
  if (!s.batch.documents) return;
  const auto refuse = [&](const std::string& what, const std::string& fix) {
    throw Error(where(s, "batch.documents"), what, fix);
  };
  if (s.jitter) refuse("documents and jitter cannot both vary a step", "one of them");
  if (s.costs) refuse("given costs do not know documents", "leave out costs or documents");
  if (s.cluster.groups.size() > 1 || !s.cluster.fabric.sites.empty())
    refuse("documents need nodes of one kind and one site", "a cluster of one kind");
  if (stores_scores(s.attention))
    refuse(s.attention + " stores whole squares of scores", "a flash kernel");
  const bool whole = std::any_of(s.model.kinds.begin(), s.model.kinds.end(),
                                 [](const Layer& layer) { return !layer.attention.causal; });
  if (whole && s.batch.documents->packing == Packing::Chunks)
    refuse("chunks need causal attention", "another packing");
}

/// Schedules with passes of their own for the vocabulary cut head and loss another way.
void check_loss_chunks(const Scenario& s) {
  if (s.loss_chunks == 1) return;
  const std::string& name = s.schedule.name;
  if (name.starts_with("vocab") || name == "interlaced")
    throw Error(where(s, "loss_chunks"), name + " has vocabulary passes of its own",
                "loss_chunks: 1, or another schedule");
  if (s.frozen) throw Error(where(s, "loss_chunks"), "the module with the head is frozen", "1");
  const std::int64_t tokens = s.batch.micro * s.batch.sequence / s.parallel.cp;
  if (s.loss_chunks > tokens)
    throw Error(where(s, "loss_chunks"),
                std::to_string(s.loss_chunks) + " pieces of " + std::to_string(tokens) + " tokens",
                "at most one piece a token");
}

/// Samples are whole models on ranks side by side.
void check_samples(const Scenario& s) {
  if (!s.batch.samples) return;
  const auto refuse = [&](const std::string& what, const std::string& fix) {
    throw Error(where(s, "batch.samples"), what, fix);
  };
  if (s.parallel.pp > 1) refuse("samples go through one stage", "parallel.pp: 1");
  if (s.jitter) refuse("samples and jitter cannot both vary a step", "one of them");
  if (s.costs) refuse("given costs do not know the length of a sample", "leave out costs");
  if (s.outer) refuse("samples and outer are not combined", "one of them");
  if (s.foreign.pieces > 0) refuse("samples leave no gaps for foreign work", "one of them");
  if (has_experts(s.model)) refuse("experts need all ranks in step", "a dense model");
  const auto place = [&](const char* axis) {
    return std::find(s.parallel.order.begin(), s.parallel.order.end(), axis);
  };
  if (place("tp") > place("cp") || place("cp") > place("dp"))
    refuse("the ranks of a sample must be neighbours", "parallel.order: tp-cp-ep-dp-pp");
  const ScheduleTraits* schedule = schedule_traits(s.schedule.name);
  if ((schedule != nullptr && schedule->asynchronous) || !s.optimizer.norm_barrier)
    refuse("samples need steps that end", "a schedule that flushes, with a norm barrier");
  if (s.batch.samples->degrees.back() < s.parallel.cp)
    refuse("the largest degree is below cp = " + std::to_string(s.parallel.cp),
           "a degree for samples of batch.sequence, at least cp");
  if (s.batch.micro > 1) refuse("every sample is a microbatch", "batch.micro: 1");
  if (s.cluster.groups.size() > 1 || !s.cluster.fabric.sites.empty())
    refuse("samples need nodes of one kind and one site", "a cluster of one kind");
  const std::int64_t pieces = std::max(1, s.parallel.context.order->pieces);
  must_divide(s, "batch.sequence", pieces * s.batch.samples->degrees.back(), s.batch.sequence,
              "tokens of the longest sample");
  const std::int64_t pool = std::int64_t{s.parallel.cp} * s.parallel.dp;
  for (const int degree : s.batch.samples->degrees)
    if (pool % degree != 0)
      refuse("degree " + std::to_string(degree) + " does not divide the " + std::to_string(pool) +
                 " ranks of cp * dp",
             "degrees " + divisors(pool));
}

void check_batch(const Scenario& s) {
  must_divide(s, "parallel.dp", s.parallel.dp, s.batch.global, "sequences of batch.global");
  must_divide(s, "batch.micro", s.batch.micro, s.batch.global / s.parallel.dp,
              "sequences of a replica (batch.global / dp)");
  check_context(s);
  check_documents(s);
  check_samples(s);
  check_loss_chunks(s);
  if (s.parallel.sequence_parallel) {
    must_divide(s, "parallel.tp", s.parallel.tp, s.batch.sequence / s.parallel.cp,
                "tokens of a rank");
  }
  if (!has_experts(s.model) && (s.parallel.ep > 1 || s.parallel.etp > 1)) {
    throw Error(where(s, s.parallel.ep > 1 ? "parallel.ep" : "parallel.etp"),
                "expert parallelism needs a mixture-of-experts model", "set ep and etp to 1");
  }
}

/// Layers of each stage by the stack's rule.
std::vector<int> deal_layers(const Scenario& s, int layers, int stages) {
  std::vector<int> out(static_cast<std::size_t>(stages), layers / stages);
  const int rest = layers % stages;
  if (rest == 0) return out;
  if (s.stack.partition == Partition::EmbeddingAndHead && (layers + 2) % stages == 0 &&
      stages > 1) {
    std::fill(out.begin(), out.end(), (layers + 2) / stages);
    out.front() -= 1;
    out.back() -= 1;
    return out;
  }
  if (s.schedule.chunks > 1) {
    throw Error(where(s, "schedule.chunks"),
                std::to_string(s.schedule.chunks) + " chunks of " + std::to_string(s.parallel.pp) +
                    " stages do not divide " + std::to_string(layers) + " layers",
                "try pp*chunks = " + divisors(layers) + ", or parallel.stage_layers");
  }
  const int ceil = layers / stages + 1;
  const bool leaves_empty = (stages - 1) * ceil >= layers;
  if (s.stack.partition == Partition::Balanced || leaves_empty) {
    for (int i = 0; i < rest; ++i) ++out[static_cast<std::size_t>(i)];
    return out;
  }
  // Ceil first: the last stage takes what is left.
  int left = layers;
  for (int& n : out) {
    n = std::min(ceil, left);
    left -= n;
  }
  return out;
}

std::vector<int> stage_layers(const Scenario& s) {
  const int layers = static_cast<int>(s.model.layers.size());
  const std::int64_t stages = std::int64_t{s.parallel.pp} * s.schedule.chunks;
  const bool ends_count = s.stack.partition == Partition::EmbeddingAndHead &&
                          (layers + 2) % stages == 0;  // a stage may hold an end alone
  if (stages > layers && !ends_count && s.parallel.stage_layers.empty() && !s.costs) {
    throw Error(where(s, "parallel.pp"),
                "pp*chunks = " + std::to_string(stages) + " stages for " + std::to_string(layers) +
                    " layers",
                "at most one stage per layer");
  }
  if (s.parallel.stage_layers.empty()) return deal_layers(s, layers, static_cast<int>(stages));
  const std::vector<int>& given = s.parallel.stage_layers;
  if (static_cast<std::int64_t>(given.size()) != stages) {
    throw Error(where(s, "parallel.stage_layers"),
                "has " + std::to_string(given.size()) + " entries",
                "pp*chunks = " + std::to_string(stages) + " are needed");
  }
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  if (sum != layers) {
    throw Error(where(s, "parallel.stage_layers"), "adds up to " + std::to_string(sum),
                "the model has " + std::to_string(layers) + " layers");
  }
  return given;
}

Mesh make_mesh(const Scenario& s) {
  Mesh mesh;
  mesh.part = "model";
  mesh.first_rank = s.parallel.first_rank;
  int stride = 1;
  for (const std::string& name : s.parallel.order) {
    const int size = name == "tp"   ? s.parallel.tp
                     : name == "cp" ? s.parallel.cp
                     : name == "dp" ? s.parallel.dp
                     : name == "pp" ? s.parallel.pp
                                    : 1;
    mesh.axes.push_back({name, size, stride});
    stride *= size;
  }
  return mesh;
}

/// The same ranks in the axes of the experts, in the order of the attention's: etp stands where tp
/// does, edp where dp does, and what cp leaves joins edp.
Mesh make_expert_mesh(const Scenario& s) {
  Mesh mesh;
  mesh.part = "experts";
  mesh.first_rank = s.parallel.first_rank;
  const int share = s.parallel.ep * s.parallel.etp;
  const int ranks = s.parallel.tp * s.parallel.cp * s.parallel.dp;
  int stride = 1;
  for (const std::string& name : s.parallel.order) {
    if (name == "cp") continue;
    const int size = name == "tp"   ? s.parallel.etp
                     : name == "ep" ? s.parallel.ep
                     : name == "dp" ? ranks / share
                                    : s.parallel.pp;
    mesh.axes.push_back({name == "tp" ? "etp" : name == "dp" ? "edp" : name, size, stride});
    stride *= size;
  }
  return mesh;
}

/// Both meshes must cut the ranks into the same stages.
void check_same_stages(const Scenario& s, const Mesh& model, const Mesh& experts) {
  if (s.parallel.pp == 1 || model.axis("pp").stride == experts.axis("pp").stride) return;
  throw Error(where(s, "parallel.order"),
              "puts ranks " + std::to_string(model.axis("pp").stride) +
                  " apart on the next stage for attention and " +
                  std::to_string(experts.axis("pp").stride) + " apart for experts",
              "pp last, as tp-cp-ep-dp-pp");
}

/// Tensor ranks hold different tokens (sequence parallelism) or the same: then each only takes
/// those of its experts.
void check_moe(const Scenario& s) {
  const MoeSettings& moe = s.moe;
  const int share = s.parallel.ep * s.parallel.etp;
  const bool same_tokens = s.parallel.tp > 1 && !s.parallel.sequence_parallel;
  if (moe.dispatcher == Dispatcher::Slice) {
    if (share == s.parallel.tp && !s.parallel.sequence_parallel) return;
    throw Error(where(s, "moe.dispatcher"),
                "slice needs experts inside the tensor group and all tokens on each of its ranks",
                "ep*etp = tp = " + std::to_string(s.parallel.tp) + ", sequence_parallel: false");
  }
  if (same_tokens)
    throw Error(where(s, "parallel.sequence_parallel"),
                "false leaves the same tokens on " + std::to_string(s.parallel.tp) +
                    " tensor ranks, which would all send them to the experts",
                "true, or moe: {dispatcher: slice} with ep*etp = tp");
  if (s.parallel.shard > 0)
    throw Error(where(s, "parallel.shard"), "is not timed with experts", "leave it out");
}

void check_node_limit(const Scenario& s, const Plan& plan) {
  if (expert_mesh(plan) == nullptr || s.moe.node_limit == 0) return;
  const int nodes = expert_groups(plan, s, s.parallel.first_rank).ep.domains;
  if (s.moe.node_limit <= nodes) return;
  throw Error(where(s, "moe.node_limit"),
              std::to_string(s.moe.node_limit) + " nodes a token, its experts lie on " +
                  std::to_string(nodes),
              "at most " + std::to_string(nodes) + ", or leave it out");
}

/// Ranks of one stage are simulated as one: they must sit on one kind of node.
void check_kinds(const Scenario& s) {
  if (s.cluster.groups.size() == 1) return;
  const Mesh mesh = make_mesh(s);
  const MeshAxis pipeline = mesh.axis("pp");
  std::vector<int> kind_of(static_cast<std::size_t>(pipeline.size), -1);
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const int kind = static_cast<int>(s.cluster.place_of(mesh.first_rank + rank).group);
    int& stage_kind = kind_of[static_cast<std::size_t>(rank / pipeline.stride % pipeline.size)];
    if (stage_kind < 0) stage_kind = kind;
    if (stage_kind != kind) {
      throw Error(where(s, "cluster"),
                  "ranks of one pipeline stage lie on nodes of different kinds, which this version "
                  "does not time",
                  "choose pp and the order so that every stage stays on one kind");
    }
  }
}

}  // namespace

int Mesh::ranks() const {
  int product = 1;
  for (const MeshAxis& axis : axes) product *= axis.size;
  return product;
}

MeshAxis Mesh::axis(std::string_view name) const {
  for (const MeshAxis& axis : axes) {
    if (axis.name == name) return axis;
  }
  return {std::string(name), 1, 1};
}

const Mesh* expert_mesh(const Plan& plan) {
  if (!plan.modules.empty()) return nullptr;
  const auto found = std::find_if(plan.meshes.begin(), plan.meshes.end(),
                                  [](const Mesh& mesh) { return mesh.part == "experts"; });
  return found == plan.meshes.end() ? nullptr : &*found;
}

std::string_view untimed_part(const Model& model) {
  for (const Layer& layer : model.kinds) {
    if (layer.attention.kind == AttentionKind::Linear) return "linear-attention layers";
  }
  return "";
}

Plan make_plan(const Scenario& s) {
  std::string_view untimed = s.modules.empty() ? untimed_part(s.model) : "";
  for (const Module& m : s.modules)
    if (untimed.empty()) untimed = untimed_part(m.view->model);
  if (untimed.empty()) return lay_out(s);
  throw Error(where(s, "model"), std::string(untimed) + " are not timed by this version",
              "transformers with softmax attention are; `paceline check` shows the shape");
}

/// A gradient that is never stored cannot be added to another or sent to other ranks.
void check_epilogue(const Scenario& s, std::int64_t microbatches) {
  const bool shared = s.parallel.dp * s.parallel.cp > 1 ||
                      (has_experts(s.model) && s.parallel.ep * s.parallel.etp < s.parallel.tp);
  if (s.optimizer.kernel != OptimizerKernel::Epilogue || (microbatches == 1 && !shared)) return;
  throw Error(where(s, "optimizer"),
              std::string("kernel: epilogue stores no gradients, so there are none to ") +
                  (shared ? "reduce over data-parallel ranks" : "add up over microbatches"),
              shared ? "parallel.dp and cp of 1, or kernel: fused"
                     : "batch.global equal to batch.micro, or kernel: fused");
}

Plan lay_out(const Scenario& s) { return s.modules.empty() ? lay_out_one(s) : lay_out_modules(s); }

Plan lay_out_one(const Scenario& s) {
  check_layers(s);
  check_batch(s);
  check_kinds(s);
  Plan plan;
  plan.meshes.push_back(make_mesh(s));
  if (has_experts(s.model)) {
    check_moe(s);
    plan.meshes.push_back(make_expert_mesh(s));
    check_same_stages(s, plan.meshes.front(), plan.meshes.back());
  }
  plan.world_size = s.parallel.world_size();
  plan.members_per_lane = std::int64_t{s.parallel.tp} * s.parallel.cp * s.parallel.dp;
  const std::int64_t microbatches = s.batch.global / s.parallel.dp / s.batch.micro;
  const std::int64_t stages = std::int64_t{s.parallel.pp} * s.schedule.chunks;
  if (microbatches > kMaxActions / stages) {
    throw Error(where(s, "batch.global"),
                std::to_string(microbatches) + " microbatches over " + std::to_string(stages) +
                    " stages are too many to simulate",
                "a smaller batch or a larger batch.micro");
  }
  check_epilogue(s, microbatches);
  plan.microbatches = static_cast<int>(microbatches);
  plan.tokens =
      static_cast<double>(s.batch.micro) * static_cast<double>(s.batch.sequence) / s.parallel.cp;
  int first = 0;
  for (const int layers : stage_layers(s)) {
    plan.stages.push_back({first, layers, false, false, 0});
    first += layers;
  }
  const bool vocabulary = s.model.vocab > 0;  // modules may have none
  plan.stages.front().embedding = vocabulary;
  plan.stages.back().head = vocabulary;
  const int stride = plan.meshes.front().axis("pp").stride;
  for (int r = 0; r < s.parallel.pp; ++r)
    plan.pipeline.push_back({s.parallel.first_rank + r * stride, plan.members_per_lane});
  check_node_limit(s, plan);
  return plan;
}

}  // namespace paceline::models
