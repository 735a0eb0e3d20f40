// SPDX-License-Identifier: Apache-2.0
#include "sim/search/layer_costs.hpp"

#include "sim/lower/stage_work.hpp"
#include "sim/minimax_layers.hpp"

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
  std::vector<double> sum{0};
  for (const auto kind : model.layers)
    sum.push_back(sum.back() + costs.layer[static_cast<std::size_t>(kind)][0].both(false));
  const auto seconds = [&](int stage, int begin, int end) {
    return sum[static_cast<std::size_t>(end)] - sum[static_cast<std::size_t>(begin)] +
           (stage == 0 ? costs.embedding.both(false) : 0) +
           (stage == stages - 1 ? costs.head.both(false) : 0);
  };
  return minimax_layers(layers, stages, seconds);
}

}  // namespace paceline::sim
