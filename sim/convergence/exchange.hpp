// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/convergence/codec.hpp"

/// What workers make of their gradients together, every step.
namespace paceline::sim::convergence {

struct ExchangeOptions {
  enum class Kind { Mean, Sign, Ternary, Mask };
  Kind kind = Kind::Mean;
  Codec codec;              ///< of Mean: what each worker's gradient goes through
  double threshold = 0.5;   ///< of Ternary: of a worker's mean magnitude
  bool exact_head = false;  ///< of votes: blocks of Role::Head are averaged in fp32
  double exact_gain = 30;   ///< of votes: averaged gradients times this stand beside votes of +-1
  double fallback = 0;  ///< of votes: average all for a while where the loss exceeds its best by it
  int hold = 20;        ///< steps of a while
  enum class MaskFrom { Gradient, Momentum, Random };
  MaskFrom from = MaskFrom::Momentum;
  double keep = 0.1, beta = 0.9;
  bool residual = true;
};
ExchangeOptions read_exchange(base::Fields& fields);

class Exchange {
 public:
  Exchange(const ExchangeOptions& options, const Objective& objective, std::uint64_t seed,
           std::size_t workers);
  /// Of the workers' gradients, which it may change; `loss` is what a monitor sees. Returns the
  /// bytes one worker sends.
  double mean(std::vector<std::vector<float>>& gradients, double loss);
  const std::vector<float>& result() const { return result_; }
  std::vector<std::pair<std::string, double>> figures() const;

 private:
  void average(const std::vector<std::vector<float>>& gradients);
  double codec_mean(std::vector<std::vector<float>>& gradients);
  double vote(const std::vector<std::vector<float>>& gradients, double loss);
  void vote_block(const std::vector<std::vector<float>>& gradients, const Block& block);
  double masked(std::vector<std::vector<float>>& gradients);
  bool falls_back(double loss);

  ExchangeOptions options_;
  std::vector<Block> blocks_;
  std::uint64_t seed_;
  std::vector<CodecState> states_;
  std::vector<float> result_;
  std::vector<std::vector<float>> residuals_;  ///< of masks, by worker
  std::vector<float> momentum_;
  std::vector<std::uint32_t> mask_;  ///< chosen one step before; empty at first: everything
  double smooth_ = -1, best_ = 0;    ///< of the monitor
  int holding_ = 0;
  std::int64_t steps_ = 0, exact_steps_ = 0;
};

}  // namespace paceline::sim::convergence
