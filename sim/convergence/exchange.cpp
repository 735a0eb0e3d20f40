// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/exchange.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/numeric/votes.hpp"

namespace paceline::sim::convergence {
namespace {

using Kind = ExchangeOptions::Kind;
using MaskFrom = ExchangeOptions::MaskFrom;
constexpr std::array<base::Named<Kind>, 4> kKinds{
    {{"mean", Kind::Mean}, {"sign", Kind::Sign}, {"ternary", Kind::Ternary}, {"mask", Kind::Mask}}};
constexpr std::array<base::Named<MaskFrom>, 3> kMaskSources{{{"gradient", MaskFrom::Gradient},
                                                             {"momentum", MaskFrom::Momentum},
                                                             {"random", MaskFrom::Random}}};
constexpr int kPlanes = 8;  // 255 workers

void read_vote(base::Fields& own, ExchangeOptions& o) {
  if (o.kind == Kind::Ternary) o.threshold = own.number("threshold", 0, 1e6, o.threshold);
  o.exact_head = own.flag("exact_head", false);
  o.exact_gain = own.number("exact_gain", 0, 1e9, o.exact_gain);
  if (!own.has("fallback")) return;
  o.fallback = own.number("fallback", 1e-6, 1e6);
  o.hold = static_cast<int>(own.integer("hold", 1, 1'000'000, o.hold));
}

}  // namespace

ExchangeOptions read_exchange(base::Fields& fields) {
  ExchangeOptions o;
  if (!fields.has("exchange")) return o;
  base::Fields own = fields.map("exchange");
  o.kind = own.choice<Kind>("kind", kKinds, Kind::Mean);
  if (o.kind == Kind::Mean) o.codec = read_codec(own, "codec");
  if (o.kind == Kind::Sign || o.kind == Kind::Ternary) read_vote(own, o);
  if (o.kind == Kind::Mask) {
    o.from = own.choice<MaskFrom>("from", kMaskSources, MaskFrom::Momentum);
    o.keep = read_share(own, "keep", o.keep);
    o.beta = own.number("beta", 0, 1 - 1e-9, o.beta);
    o.residual = own.flag("residual", true);
  }
  own.done();
  return o;
}

Exchange::Exchange(const ExchangeOptions& options, const Objective& objective, std::uint64_t seed,
                   std::size_t workers)
    : options_(options),
      blocks_(objective.blocks),
      seed_(seed),
      states_(workers),
      result_(objective.size(), 0.0F) {
  if (options_.kind != Kind::Mask) return;
  residuals_.assign(workers, std::vector<float>(objective.size(), 0.0F));
  momentum_.assign(objective.size(), 0.0F);
}

void Exchange::average(const std::vector<std::vector<float>>& gradients) {
  const double share = 1 / static_cast<double>(gradients.size());
  for (std::size_t i = 0; i < result_.size(); ++i) {
    double sum = 0;
    for (const auto& g : gradients) sum += static_cast<double>(g[i]);
    result_[i] = static_cast<float>(share * sum);
  }
}

double Exchange::mean(std::vector<std::vector<float>>& gradients, double loss) {
  ++steps_;
  switch (options_.kind) {
    case Kind::Mean:
      return codec_mean(gradients);
    case Kind::Sign:
    case Kind::Ternary:
      return vote(gradients, loss);
    case Kind::Mask:
      return masked(gradients);
  }
  return 0;
}

double Exchange::codec_mean(std::vector<std::vector<float>>& gradients) {
  double bytes = 0;
  for (std::size_t w = 0; w < gradients.size(); ++w) {
    bytes = static_cast<double>(transfer(options_.codec, blocks_, states_[w],
                                         stream_seed(seed_, Stream::Codec, w), gradients[w]));
  }
  average(gradients);
  return gradients.size() > 1 || options_.codec.kind != nullptr ? bytes : 0;
}

/// A moving average of the loss against the lowest it was: above it by the share `fallback`, the
/// next `hold` steps are exact, and again as long as it stays above.
bool Exchange::falls_back(double loss) {
  if (options_.fallback <= 0) return false;
  constexpr double kKept = 0.9;
  smooth_ = smooth_ < 0 ? loss : kKept * smooth_ + (1 - kKept) * loss;
  best_ = steps_ == 1 ? smooth_ : std::min(best_, smooth_);
  if (holding_ == 0 && smooth_ > (1 + options_.fallback) * best_) holding_ = options_.hold;
  return holding_ > 0 && holding_-- > 0;
}

double Exchange::vote(const std::vector<std::vector<float>>& gradients, double loss) {
  const bool exact = falls_back(loss);
  exact_steps_ += exact ? 1 : 0;
  average(gradients);
  std::int64_t bytes = 0;
  for (const Block& block : blocks_) {
    const auto size = static_cast<std::int64_t>(block.size());
    if (exact || (options_.exact_head && block.role == Role::Head)) {
      for (std::size_t i = block.first; i < block.first + block.size(); ++i)
        result_[i] = static_cast<float>(options_.exact_gain * static_cast<double>(result_[i]));
      bytes += 4 * size;
      continue;
    }
    vote_block(gradients, block);
    bytes += options_.kind == Kind::Sign ? numeric::sign_bytes(size) : numeric::ternary_bytes(size);
  }
  return static_cast<double>(bytes);
}

void Exchange::vote_block(const std::vector<std::vector<float>>& gradients, const Block& block) {
  std::vector<float> thresholds(gradients.size(), 0.0F);
  for (std::size_t w = 0; w < gradients.size() && options_.kind == Kind::Ternary; ++w) {
    double sum = 0;
    for (std::size_t i = 0; i < block.size(); ++i)
      sum += std::fabs(static_cast<double>(gradients[w][block.first + i]));
    thresholds[w] =
        static_cast<float>(options_.threshold * sum / static_cast<double>(block.size()));
  }
  for (std::size_t i = 0; i < block.size(); i += 32) {
    const std::size_t some = std::min<std::size_t>(32, block.size() - i);
    numeric::VoteCounts<kPlanes> plus, minus;
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      std::uint32_t above = 0, below = 0;
      for (std::size_t k = 0; k < some; ++k) {
        const float g = gradients[w][block.first + i + k];
        if (options_.kind == Kind::Sign) {
          below |= (numeric::bits_of(g) >> 31) << k;
        } else {
          above |= (numeric::is_plus(g, thresholds[w]) ? 1U : 0U) << k;
          below |= (numeric::is_minus(g, thresholds[w]) ? 1U : 0U) << k;
        }
      }
      add_votes(plus, above);
      add_votes(minus, below);
    }
    const auto workers = static_cast<std::uint32_t>(gradients.size());
    const std::uint32_t negative = sign_majority(minus, workers);
    const std::uint32_t up = more_votes(plus, minus), down = more_votes(minus, plus);
    for (std::size_t k = 0; k < some; ++k) {
      result_[block.first + i + k] = options_.kind == Kind::Sign
                                         ? numeric::sign_value(negative >> k, 0, 1)
                                         : numeric::ternary_value(up >> k, down >> k, 0, 1);
    }
  }
}

// SCAPE: every worker knows the mask, which the step before has chosen, so that values go without
// places; the mask itself goes as bits. What is not sent waits in the residual, if there is one.
double Exchange::masked(std::vector<std::vector<float>>& gradients) {
  for (std::size_t w = 0; w < gradients.size(); ++w) {
    for (std::size_t i = 0; i < result_.size(); ++i) gradients[w][i] += residuals_[w][i];
  }
  average(gradients);
  const std::size_t count = kept_count(options_.keep, result_.size());
  for (std::size_t i = 0; i < momentum_.size(); ++i) {
    momentum_[i] = static_cast<float>(options_.beta * static_cast<double>(momentum_[i]) +
                                      (1 - options_.beta) * static_cast<double>(result_[i]));
  }
  std::vector<std::uint32_t> next;
  if (options_.from == MaskFrom::Random) {
    std::vector<float> lots(result_.size());
    base::Rng rng(stream_seed(seed_, Stream::Codec, static_cast<std::uint64_t>(steps_)));
    for (float& lot : lots) lot = static_cast<float>(rng.uniform());
    next = largest(lots, count);
  } else {
    next = largest(options_.from == MaskFrom::Momentum ? momentum_ : result_, count);
  }
  std::vector<bool> sent(result_.size(), mask_.empty());
  for (const std::uint32_t i : mask_) sent[i] = true;
  for (std::size_t i = 0; i < result_.size(); ++i) {
    for (std::size_t w = 0; w < gradients.size(); ++w)
      residuals_[w][i] = sent[i] || !options_.residual ? 0.0F : gradients[w][i];
    if (!sent[i]) result_[i] = 0;
  }
  const double values =
      mask_.empty() ? static_cast<double>(result_.size()) : static_cast<double>(mask_.size());
  mask_ = std::move(next);
  return 4 * values + static_cast<double>(result_.size()) / 8;
}

std::vector<std::pair<std::string, double>> Exchange::figures() const {
  if (options_.fallback <= 0) return {};
  return {{"exact_share", static_cast<double>(exact_steps_) /
                              static_cast<double>(std::max<std::int64_t>(steps_, 1))}};
}

}  // namespace paceline::sim::convergence
