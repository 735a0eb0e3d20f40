// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/optimizer_cost.hpp"

namespace paceline::sim {
namespace {

/// fp32 Adam 28 (read gradient, master and two moments; write master and moments), unscale and
/// overflow check 8, norm 4, clip 8, cast and copy back 8. SGD without moments needs the same minus
/// the moments.
constexpr double kAdamBytes = 56;
constexpr double kSgdBytes = 40;

/// Of one kernel: weights, master and states read and written, gradients read; in the epilogue of
/// their product they never leave it.
double fused_bytes(const models::Scenario& s) {
  const models::StateBytes bytes = models::state_bytes(s);
  const bool epilogue = s.optimizer.kernel == models::OptimizerKernel::Epilogue;
  return (2 * (bytes.weight + bytes.optimizer) + (epilogue ? 0 : bytes.gradient)) /
         s.optimizer.efficiency;
}

}  // namespace

bool buckets_gradients(const models::Scenario& s) {
  return s.stack.dp_overlap == models::DpOverlap::Bucketed ||
         (s.stack.dp_overlap == models::DpOverlap::BucketedWithoutPipeline && s.parallel.pp == 1);
}

double step_bytes(const models::Scenario& s) {
  if (s.optimizer.kernel != models::OptimizerKernel::Framework) return fused_bytes(s);
  return s.optimizer.name == "sgd" ? kSgdBytes : kAdamBytes;
}

double updated_parameters(const models::Scenario& s, const RankParameters& held) {
  const models::DataRanks ranks =
      s.parallel.zero >= 1 ? models::shard_ranks(s) : models::DataRanks{};
  return (held.all - held.experts) / ranks.dense + held.experts / ranks.experts;
}

double optimizer_seconds(const CostContext& context, const RankParameters& held) {
  const models::Scenario& s = *context.scenario;
  return models::optimizer_time(context.kernels, s.optimizer.name, s.optimizer.master,
                                updated_parameters(s, held), step_bytes(s))
      .value;
}

}  // namespace paceline::sim
