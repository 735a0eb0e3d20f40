// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "base/rng.hpp"
#include "sim/convergence/mixing.hpp"
#include "sim/convergence/workers.hpp"

namespace paceline::sim::convergence {
namespace {

enum class Partners { Complete, Ring, Pairs, Matrix };
constexpr std::array<base::Named<Partners>, 3> kPartners{
    {{"complete", Partners::Complete}, {"ring", Partners::Ring}, {"pairs", Partners::Pairs}}};

struct Gossip {
  int workers = 8, every = 1, late = 0;
  bool sorted = false;
  double lost = 0;
  Partners partners = Partners::Ring;
  Mixing matrix;
};

Mixing mixing_of(const Gossip& g, std::uint64_t seed, std::uint64_t round) {
  switch (g.partners) {
    case Partners::Complete:
      return complete_mixing(g.workers);
    case Partners::Ring:
      return ring_mixing(g.workers);
    case Partners::Pairs:
      return pair_mixing(g.workers, stream_seed(seed, Stream::Mixing), round);
    case Partners::Matrix:
      break;
  }
  return g.matrix;
}

/// Adds sum_v m_wv (x_v - x_w) of the weights `seen` to each worker; a lost message counts as the
/// receiver's own weights.
void mix(WorkerTeam& team, const Mixing& m, const std::vector<std::vector<float>>& seen,
         double lost, base::Rng& rng) {
  for (std::size_t w = 0; w < m.size(); ++w) {
    std::vector<double> change(seen[w].size(), 0.0);
    for (std::size_t v = 0; v < m.size(); ++v) {
      if (v == w || m[w][v] == 0) continue;
      if (lost > 0 && rng.uniform() < lost) continue;
      for (std::size_t i = 0; i < change.size(); ++i)
        change[i] += m[w][v] * (static_cast<double>(seen[v][i]) - static_cast<double>(seen[w][i]));
    }
    std::vector<float>& x = team.workers[w].weights;
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(static_cast<double>(x[i]) + change[i]);
  }
}

std::vector<std::vector<float>> all_weights(const WorkerTeam& team) {
  std::vector<std::vector<float>> all;
  for (const Worker& worker : team.workers) all.push_back(worker.weights);
  return all;
}

/// Largest distance of a worker from the mean, over the norm of the mean.
double disagreement(const WorkerTeam& team) {
  const std::vector<float> mean = mean_weights(team);
  double most = 0, norm = 0;
  for (const float x : mean) norm += static_cast<double>(x) * static_cast<double>(x);
  for (const Worker& worker : team.workers) {
    double away = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double d = static_cast<double>(worker.weights[i]) - static_cast<double>(mean[i]);
      away += d * d;
    }
    most = std::max(most, away);
  }
  return norm > 0 ? std::sqrt(most / norm) : 0;
}

Run run_gossip(const Gossip& g, const Objective& f, const Optimizer& optimizer, const Training& t,
               const std::atomic<bool>& stop) {
  WorkerTeam team = make_team(f, optimizer, t, g.workers, g.sorted, t.steps);
  Watch watch(f, t, t.steps, stop);
  base::Rng rng(stream_seed(t.seed, Stream::Lost));
  std::vector<std::vector<float>> seen;
  Mixing mixing;
  double bytes = 0, exchanges = 0;
  for (std::int64_t k = 0; k < t.steps; ++k) {
    double loss = 0;
    for (std::size_t w = 0; w < team.workers.size(); ++w)
      loss += local_step(team, w, k) / static_cast<double>(team.workers.size());
    const std::int64_t in_round = (k + 1) % g.every;
    if (in_round == 0) {
      seen = all_weights(team);
      mixing = mixing_of(g, t.seed, static_cast<std::uint64_t>(k / g.every));
      for (std::size_t v = 1; v < mixing[0].size(); ++v)
        bytes += mixing[0][v] > 0 ? 4 * static_cast<double>(f.size()) : 0;
    }
    if (in_round == g.late % g.every && !seen.empty()) {
      mix(team, mixing, seen, g.lost, rng);
      if (f.retract)
        for (Worker& worker : team.workers) f.retract(worker.weights);
      ++exchanges;
    }
    if (!watch.after(k + 1, loss, bytes, [&] { return mean_weights(team); })) break;
  }
  Run run = watch.finish(t.steps, bytes, mean_weights(team));
  run.exchanges = exchanges;
  run.extra.emplace_back("disagreement", disagreement(team));
  return run;
}

}  // namespace

// Every `every` steps worker w takes sum_v m_wv x_v; with `late` the weights of that moment are
// mixed in so many steps later, as a message that does not block is (non-blocking mixing). The loss
// shown is that of the mean of all workers.
Method read_gossip(base::Fields& fields) {
  Gossip g;
  g.workers = static_cast<int>(fields.integer("workers", 2, 255, 8));
  g.every = static_cast<int>(fields.integer("every", 1, 1'000'000, 1));
  g.late = static_cast<int>(fields.integer("late", 0, g.every - 1, 0));
  g.lost = fields.number("lost", 0, 1, 0);
  g.sorted = fields.flag("sorted", false);
  const base::Value* partners = fields.find("mixing");
  if (partners != nullptr && partners->kind == base::Value::Kind::List) {
    g.partners = Partners::Matrix;
    g.matrix = read_mixing(fields, "mixing", g.workers);
  } else {
    g.partners = fields.choice<Partners>("mixing", kPartners, Partners::Ring);
  }
  return [g](const Objective& f, const Optimizer& o, const Training& t,
             const std::atomic<bool>& stop) { return run_gossip(g, f, o, t, stop); };
}

}  // namespace paceline::sim::convergence
