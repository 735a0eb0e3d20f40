// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sim/convergence/codec.hpp"
#include "sim/convergence/matrix.hpp"
#include "sim/convergence/workers.hpp"

namespace paceline::sim::convergence {
namespace {

enum class Aggregate { Mean, Iso };
constexpr std::array<base::Named<Aggregate>, 2> kAggregates{
    {{"mean", Aggregate::Mean}, {"iso", Aggregate::Iso}}};

struct Rounds {
  int workers = 8, inner = 10;
  bool sorted = false;
  double outer_rate = 1, outer_momentum = 0;
  bool linear = false;  ///< the outer rate falls linearly to 0 over the rounds
  Aggregate aggregate = Aggregate::Mean;
  int fragments = 1, late = 0;
  double keep_local = 0;  ///< share of a worker's own weights when late ones arrive
  double lost = 0;        ///< probability that a worker misses a round
  Codec codec;
  std::int64_t slots = 0;  ///< of a pipeline that the workers share; 0: count steps
  int stages = 0;
};

/// The outer weights, and what one fragment sent that has not arrived yet.
struct Outer {
  std::vector<float> weights, momentum;
  std::vector<std::vector<float>> sent;  ///< by fragment: mean of what workers moved, or empty
  std::vector<CodecState> codecs;        ///< by worker
  std::int64_t applied = 0, due = 0;     ///< fragments so far, and of the whole run
  double bytes = 0;
};

/// Which fragment a block belongs to: every fragments-th block.
bool in_fragment(const Rounds& r, std::size_t block, std::size_t fragment) {
  return block % static_cast<std::size_t>(r.fragments) == fragment;
}

/// Iso-C (Marczak et al., No task left behind, arXiv:2502.04959): all singular values become
/// their mean.
void flatten(const Block& block, std::span<float> values) {
  if (block.rows == 1 || block.columns == 1) return;
  store(flat_spectrum(matrix_of(values, block)), block, values);
}

/// What the workers that are there have moved since the last round, averaged.
std::vector<float> gather(const Rounds& r, const WorkerTeam& team, Outer& outer,
                          std::size_t fragment, base::Rng& lost) {
  const std::vector<Block>& blocks = team.objective->blocks;
  const std::size_t size = team.objective->size();
  std::vector<double> sum(size, 0.0);
  double present = 0, bytes = 0;
  for (std::size_t w = 0; w < team.workers.size(); ++w) {
    if (r.lost > 0 && lost.uniform() < r.lost) continue;
    std::vector<float> moved(size, 0.0F);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!in_fragment(r, b, fragment)) continue;
      for (std::size_t i = blocks[b].first; i < blocks[b].first + blocks[b].size(); ++i)
        moved[i] = outer.weights[i] - team.workers[w].weights[i];
    }
    bytes =
        static_cast<double>(transfer(r.codec, blocks, outer.codecs[w],
                                     stream_seed(team.training->seed, Stream::Codec, w), moved)) /
        r.fragments;
    for (std::size_t i = 0; i < size; ++i) sum[i] += static_cast<double>(moved[i]);
    ++present;
  }
  outer.bytes += bytes;
  std::vector<float> mean(size, 0.0F);
  if (present == 0) return mean;
  for (std::size_t i = 0; i < size; ++i) mean[i] = static_cast<float>(sum[i] / present);
  if (r.aggregate == Aggregate::Iso) {
    for (std::size_t b = 0; b < blocks.size(); ++b)
      if (in_fragment(r, b, fragment)) flatten(blocks[b], mean);
  }
  return mean;
}

/// The outer step: Nesterov's momentum on what was moved (DiLoCo, arXiv:2311.08105, algorithm 1),
/// then every worker goes on from there.
void apply(const Rounds& r, WorkerTeam& team, Outer& outer, std::size_t fragment) {
  const std::vector<Block>& blocks = team.objective->blocks;
  const double part = static_cast<double>(outer.applied) / static_cast<double>(outer.due);
  const double rate = r.outer_rate * (r.linear ? 1 - part : 1);
  const std::vector<float>& moved = outer.sent[fragment];
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!in_fragment(r, b, fragment)) continue;
    for (std::size_t i = blocks[b].first; i < blocks[b].first + blocks[b].size(); ++i) {
      const double d = static_cast<double>(moved[i]);
      const double m = r.outer_momentum * static_cast<double>(outer.momentum[i]) + d;
      outer.momentum[i] = static_cast<float>(m);
      outer.weights[i] = static_cast<float>(static_cast<double>(outer.weights[i]) -
                                            rate * (d + r.outer_momentum * m));
      for (Worker& worker : team.workers) {
        worker.weights[i] =
            r.keep_local == 0
                ? outer.weights[i]
                : static_cast<float>(r.keep_local * static_cast<double>(worker.weights[i]) +
                                     (1 - r.keep_local) * static_cast<double>(outer.weights[i]));
      }
    }
  }
  ++outer.applied;
  outer.sent[fragment].clear();
  if (!team.objective->retract) return;
  team.objective->retract(outer.weights);
  for (Worker& worker : team.workers) team.objective->retract(worker.weights);
}

/// Steps of each worker: `steps`, or what fits into the slots of a shared pipeline. There as many
/// workers as stages take turns, forward and backward take a slot each, and a round of m gradients
/// takes 2 (m + stages - 1) slots from fill to drain (1F1B); a last round that does not fit is cut.
std::vector<std::int64_t> worker_steps(const Rounds& r, const Training& t) {
  const auto workers = static_cast<std::int64_t>(r.workers);
  if (r.slots == 0) return std::vector<std::int64_t>(static_cast<std::size_t>(workers), t.steps);
  const std::int64_t in_round = workers * r.inner, drain = 2 * (std::int64_t{r.stages} - 1);
  const std::int64_t round = 2 * in_round + drain, whole = r.slots / round;
  const std::int64_t rest = std::max<std::int64_t>(0, (r.slots % round - drain) / 2);
  std::vector<std::int64_t> steps;
  for (std::int64_t w = 0; w < workers; ++w)
    steps.push_back(whole * r.inner + (rest - w + workers - 1) / workers);
  return steps;
}

/// Exchanges of fragments that are due after step `done` of every worker.
void exchange(const Rounds& r, WorkerTeam& team, Outer& outer, std::int64_t done, bool last,
              base::Rng& lost) {
  for (int p = 0; p < r.fragments; ++p) {
    const auto fragment = static_cast<std::size_t>(p);
    const std::int64_t offset = std::int64_t{p} * r.inner / r.fragments;
    if (last || (done > offset && (done - offset) % r.inner == 0)) {
      if (!outer.sent[fragment].empty()) apply(r, team, outer, fragment);
      outer.sent[fragment] = gather(r, team, outer, fragment, lost);
      if (last || r.late == 0) apply(r, team, outer, fragment);
    } else if (!outer.sent[fragment].empty() && (done - offset) % r.inner == r.late) {
      apply(r, team, outer, fragment);
    }
  }
}

Run run_rounds(const Rounds& r, const Objective& f, const Optimizer& optimizer, const Training& t,
               const std::atomic<bool>& stop) {
  const std::vector<std::int64_t> steps = worker_steps(r, t);
  const std::int64_t total = steps.front();  // nobody has more
  WorkerTeam team = make_team(f, optimizer, t, r.workers, r.sorted, total);
  Outer outer{f.start, std::vector<float>(f.size(), 0.0F),
              std::vector<std::vector<float>>(static_cast<std::size_t>(r.fragments)),
              std::vector<CodecState>(team.workers.size())};
  outer.due = std::max<std::int64_t>(1, total * r.fragments / r.inner);
  base::Rng lost(stream_seed(t.seed, Stream::Lost));
  Watch watch(f, t, total, stop);
  for (std::int64_t k = 0; k < total; ++k) {
    double loss = 0, present = 0;
    for (std::size_t w = 0; w < team.workers.size(); ++w) {
      if (k >= steps[w]) continue;
      loss += local_step(team, w, k);
      ++present;
    }
    exchange(r, team, outer, k + 1, k + 1 == total, lost);
    if (!watch.after(k + 1, loss / present, outer.bytes, [&] { return mean_weights(team); })) break;
  }
  Run run = watch.finish(total, outer.bytes, outer.weights);
  run.exchanges = static_cast<double>(outer.applied);
  return run;
}

void read_pipeline_share(base::Fields& fields, Rounds& r) {
  if (!fields.has("slots")) return;
  r.slots = fields.integer("slots", 1, 1'000'000'000);
  r.stages = static_cast<int>(fields.integer("stages", 1, 255, r.workers));
  if (r.slots < 2 * (std::int64_t{r.stages} + r.workers))
    fields.fail("slots", "leaves no worker a step", "at least 2 (stages + workers)");
}

}  // namespace

// LocalSGD (outer rate 1, no momentum), DiLoCo (outer Nesterov momentum), Streaming DiLoCo
// (fragments that are exchanged by turns, arrive `late` and are mixed with the worker's own),
// IsoLoCo (aggregate: iso).
Method read_rounds(base::Fields& fields) {
  Rounds r;
  r.workers = static_cast<int>(fields.integer("workers", 1, 255, 8));
  r.inner = static_cast<int>(fields.integer("inner", 1, 1'000'000, 10));
  r.sorted = fields.flag("sorted", false);
  r.outer_rate = fields.number("outer_rate", 1e-9, 1e9, 1);
  r.outer_momentum = fields.number("outer_momentum", 0, 1 - 1e-9, 0);
  r.linear = fields.flag("outer_decay", false);
  r.aggregate = fields.choice<Aggregate>("aggregate", kAggregates, Aggregate::Mean);
  r.fragments = static_cast<int>(fields.integer("fragments", 1, r.inner, 1));
  r.late = static_cast<int>(fields.integer("late", 0, r.inner - 1, 0));
  r.keep_local = fields.number("keep_local", 0, 1, r.late > 0 ? 0.5 : 0);
  r.lost = fields.number("lost", 0, 1, 0);
  r.codec = read_codec(fields, "codec");
  read_pipeline_share(fields, r);
  return [r](const Objective& f, const Optimizer& o, const Training& t,
             const std::atomic<bool>& stop) { return run_rounds(r, f, o, t, stop); };
}

}  // namespace paceline::sim::convergence
