// SPDX-License-Identifier: Apache-2.0
#include "models/parallel/plan_checks.hpp"

#include <algorithm>
#include <vector>

#include "models/workload/layer_ops.hpp"

namespace paceline::models::detail {

using base::Error;

/// "1, 2, 4, 5, 8": the smallest divisors of n, for messages.
std::string divisors(std::int64_t n, std::size_t limit) {
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

namespace {

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

}  // namespace

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

namespace {

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
  if (s.parallel.zero >= 3)
    refuse("zero: 3 gathers weights from ranks that compute other samples", "zero 0 to 2");
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

}  // namespace

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

}  // namespace paceline::models::detail
