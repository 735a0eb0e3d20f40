// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/objective.hpp"

#include <array>

#include "base/distributions.hpp"
#include "base/rng.hpp"
#include "base/table.hpp"

namespace paceline::sim::convergence {

const Block& add_block(Objective& objective, std::string name, int rows, int columns, Role role) {
  const std::size_t first =
      objective.blocks.empty() ? 0 : objective.blocks.back().first + objective.blocks.back().size();
  objective.blocks.push_back({std::move(name), first, rows, columns, role});
  objective.start.resize(first + objective.blocks.back().size());
  return objective.blocks.back();
}

std::span<const ObjectiveKind> objective_kinds() {
  static constexpr std::array kKinds{
#define PACELINE_OBJECTIVE(function, name, summary) ObjectiveKind{name, summary, &function},
#include "sim/convergence/objectives/list.def"
#undef PACELINE_OBJECTIVE
  };
  return kKinds;
}

ObjectiveMaker read_objective(base::Fields& fields) {
  const std::string name = fields.text("kind");
  return base::find(objective_kinds(), name, fields.where("kind"), "objective").read(fields);
}

std::uint64_t stream_seed(std::uint64_t seed, Stream stream, std::uint64_t number) {
  std::uint64_t mixed = base::Rng(seed).next();
  mixed = base::Rng(mixed ^ static_cast<std::uint64_t>(stream)).next();
  return base::Rng(mixed ^ number).next();
}

Batch draw_batch(const Objective& objective, std::uint64_t seed, std::uint64_t number, int size) {
  Batch batch;
  if (objective.samples == 0) return batch;
  base::Rng rng(stream_seed(seed, Stream::Samples, number));
  batch.resize(static_cast<std::size_t>(size));
  for (std::uint32_t& sample : batch)
    sample = static_cast<std::uint32_t>(rng.below(objective.samples));
  return batch;
}

Batch draw_batch(std::span<const std::uint32_t> from, std::uint64_t seed, std::uint64_t number,
                 int size) {
  base::Rng rng(stream_seed(seed, Stream::Samples, number));
  Batch batch(from.empty() ? 0 : static_cast<std::size_t>(size));
  for (std::uint32_t& sample : batch) sample = from[rng.below(from.size())];
  return batch;
}

double noisy_gradient(const Objective& objective, std::span<const float> weights,
                      std::span<const float> backward, const Batch& batch, std::uint64_t seed,
                      std::uint64_t number, std::span<float> gradient) {
  const double loss = objective.gradient(weights, backward, batch, gradient);
  if (objective.noise > 0) {
    base::Rng rng(stream_seed(seed, Stream::Noise, number));
    for (float& g : gradient) g += static_cast<float>(objective.noise * base::standard_normal(rng));
  }
  return loss;
}

}  // namespace paceline::sim::convergence
