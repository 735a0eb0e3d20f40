// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"

/// What is minimised: small problems with data of their own, made from a seed.
namespace paceline::sim::convergence {

/// What optimizers need to know of a part of the weights.
enum class Role {
  Vector,  ///< no matrix to speak of
  Matrix,  ///< between hidden layers
  Table,   ///< a row per token
  Head,    ///< classes or tokens come out
};

/// Consecutive weights, row-major.
struct Block {
  std::string name;
  std::size_t first = 0;
  int rows = 1, columns = 1;
  Role role = Role::Vector;
  std::size_t size() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

/// Samples that a gradient is the mean of.
using Batch = std::vector<std::uint32_t>;

struct Objective {
  std::vector<Block> blocks;  ///< in the order of the weights, nothing between them
  std::vector<float> start;   ///< the first weights
  std::size_t samples = 0;    ///< 0: no data, every gradient is that of the whole objective
  std::vector<int> labels;    ///< of the samples, where they have any: for sorted shards
  double noise = 0;           ///< deviation of normal noise on every coordinate of a gradient
  double optimum = 0;         ///< subtracted from what `loss` gives; 0 where it is unknown

  /// Loss of the batch; writes its gradient. Layers behind a weight are multiplied by `backward`
  /// when the gradient goes back through them, which is `weights` unless a pipeline has updated
  /// them in between; objectives without layers ignore it.
  std::function<double(std::span<const float> weights, std::span<const float> backward,
                       const Batch& batch, std::span<float> gradient)>
      gradient;
  /// Over all samples, or over those held out.
  std::function<double(std::span<const float> weights)> loss;
  /// Share of held-out samples that are right; empty where there is no such thing.
  std::function<double(std::span<const float> weights)> accuracy;
  /// Puts weights that an update has moved back onto what they must lie on; empty: nowhere.
  std::function<void(std::span<float> weights)> retract;

  std::size_t size() const { return start.size(); }
};

/// Appends a block behind the others.
const Block& add_block(Objective& objective, std::string name, int rows, int columns, Role role);

/// One objective for every seed: the options are read once.
using ObjectiveMaker = std::function<Objective(std::uint64_t seed)>;

struct ObjectiveKind {
  std::string_view name, summary;
  ObjectiveMaker (*read)(base::Fields& fields);
};
std::span<const ObjectiveKind> objective_kinds();

#define PACELINE_OBJECTIVE(function, name, summary) ObjectiveMaker function(base::Fields& fields);
#include "sim/convergence/objectives/list.def"
#undef PACELINE_OBJECTIVE

/// `{kind: NAME, ...}`: base::Error for unknown names, keys and values out of range.
ObjectiveMaker read_objective(base::Fields& fields);

/// A stream of random numbers that depends on the seed and what they are for.
enum class Stream : std::uint64_t { Data = 1, Start, Samples, Noise, Lost, Mixing, Codec, Probe };
std::uint64_t stream_seed(std::uint64_t seed, Stream stream, std::uint64_t number = 0);

/// The number-th batch of an endless row: `size` samples of the part [first, first + count) of all,
/// each drawn by itself. The same seed and number give the same batch whatever method asks.
Batch draw_batch(const Objective& objective, std::uint64_t seed, std::uint64_t number, int size);
/// Out of a list of samples.
Batch draw_batch(std::span<const std::uint32_t> from, std::uint64_t seed, std::uint64_t number,
                 int size);
/// Gradient of a batch with the objective's noise, which depends on the seed and number only.
double noisy_gradient(const Objective& objective, std::span<const float> weights,
                      std::span<const float> backward, const Batch& batch, std::uint64_t seed,
                      std::uint64_t number, std::span<float> gradient);

}  // namespace paceline::sim::convergence
