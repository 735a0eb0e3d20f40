// SPDX-License-Identifier: Apache-2.0
#include "sim/search/layer_costs.hpp"

#include <algorithm>
#include <limits>

#include "sim/lower/stage_work.hpp"

namespace paceline::sim {
namespace {

/// `cost(role)` is a PassCost.
template <class Cost>
PassSeconds seconds_of(const CostContext& context, const Cost& cost) {
  const models::Scenario& s = *context.scenario;
  const double loss = s.stack.scale_loss > 0 ? scale_loss_factor(s) : 1;
  const auto seconds = [&](Role role) {
    const PassCost pass = cost(role);
    return loss *
           (s.moe.overlap ? pass.parts[static_cast<std::size_t>(Part::Compute)] : pass.seconds);
  };
  return {seconds(Role::Forward), seconds(Role::Backward), seconds(Role::Input),
          seconds(Role::Weight)};
}

}  // namespace

PassSeconds& PassSeconds::operator+=(const PassSeconds& other) {
  forward += other.forward;
  backward += other.backward;
  input += other.input;
  weight += other.weight;
  return *this;
}

LayerCosts layer_costs(const CostContext& context) {
  const models::Scenario& s = *context.scenario;
  LayerCosts costs;
  for (const models::Layer& layer : s.model.kinds) {
    const auto of = [&](bool recomputed) {
      return seconds_of(context,
                        [&](Role role) { return layer_cost(context, layer, recomputed, role); });
    };
    costs.layer.push_back({of(false), of(true)});
  }
  const auto end = [&](bool head) {
    return seconds_of(context, [&](Role role) { return end_cost(context, head, role); });
  };
  costs.embedding = end(false);
  costs.head = end(true);
  for (int i = 0; i < s.model.prediction_layers; ++i) {
    costs.head += costs.layer[static_cast<std::size_t>(s.model.layers.back())][0];
    costs.head += seconds_of(context, [&](Role role) { return prediction_cost(context, role); });
  }
  costs.host = s.stack.microbatch_host.value;
  return costs;
}

PassSeconds stage_seconds(const LayerCosts& costs, const models::Model& model,
                          const models::Stage& stage, int recomputed, int chunks) {
  PassSeconds sum;
  sum.forward = costs.host / chunks;
  for (int i = 0; i < stage.layers; ++i)
    sum += costs.layer[models::kind_at(model, stage, i)][i < recomputed ? 1 : 0];
  if (stage.embedding) sum += costs.embedding;
  if (stage.head) sum += costs.head;
  return sum;
}

std::vector<int> balanced_layers(const LayerCosts& costs, const models::Model& model, int stages) {
  const int layers = static_cast<int>(model.layers.size());
  PACELINE_CHECK(stages >= 1 && stages <= layers);
  std::vector<double> sum{0};
  for (const auto kind : model.layers)
    sum.push_back(sum.back() + costs.layer[static_cast<std::size_t>(kind)][0].both(false));
  const auto seconds = [&](int stage, int begin, int end) {
    return sum[static_cast<std::size_t>(end)] - sum[static_cast<std::size_t>(begin)] +
           (stage == 0 ? costs.embedding.both(false) : 0) +
           (stage == stages - 1 ? costs.head.both(false) : 0);
  };
  // longest[k][n]: of the first k stages when they hold n layers; from: where the last of them
  // begins.
  const std::size_t width = static_cast<std::size_t>(layers) + 1;
  std::vector<double> longest(width * static_cast<std::size_t>(stages + 1),
                              std::numeric_limits<double>::infinity());
  std::vector<int> from(longest.size(), 0);
  const auto at = [&](int k, int n) {
    return static_cast<std::size_t>(k) * width + static_cast<std::size_t>(n);
  };
  longest[at(0, 0)] = 0;
  for (int k = 1; k <= stages; ++k) {
    for (int n = k; n <= layers - (stages - k); ++n) {
      for (int begin = n - 1; begin >= k - 1; --begin) {
        const double last = seconds(k - 1, begin, n);
        const double worst = std::max(longest[at(k - 1, begin)], last);
        if (worst < longest[at(k, n)]) {
          longest[at(k, n)] = worst;
          from[at(k, n)] = begin;
        }
        if (last > longest[at(k, n)]) break;  // a longer last stage is no better
      }
    }
  }
  std::vector<int> out(static_cast<std::size_t>(stages));
  for (int k = stages, n = layers; k > 0; --k) {
    const int begin = from[at(k, n)];
    out[static_cast<std::size_t>(k - 1)] = n - begin;
    n = begin;
  }
  return out;
}

}  // namespace paceline::sim
