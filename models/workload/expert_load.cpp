// SPDX-License-Identifier: Apache-2.0
#include "models/workload/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/distributions.hpp"

namespace paceline::models {
namespace {

/// Layers drawn: the mean of the slowest rank's load is then known to a percent or so.
constexpr int kDraws = 48;

std::vector<double> draw(const Imbalance& law, std::size_t count, base::Rng& rng) {
  std::vector<double> shares(count, 1);
  if (law.law == ImbalanceLaw::Lognormal) {
    for (double& share : shares) share = base::lognormal_of_mean_one(rng, law.value);
  } else if (law.law == ImbalanceLaw::Zipf) {
    for (std::size_t i = 0; i < count; ++i)
      shares[i] = base::same_exp(-law.value * base::same_log(static_cast<double>(i) + 1));
    for (std::size_t i = count; i-- > 1;) std::swap(shares[i], shares[rng.below(i + 1)]);
  }
  return shares;
}

/// Shares of the routes in units of the equal share. No token chooses an expert twice: none has
/// more than every token, count / per_token; what is above goes to the others.
void normalise(std::vector<double>& shares, double most) {
  std::vector<bool> full(shares.size(), false);
  double left = static_cast<double>(shares.size());
  while (true) {
    double sum = 0;
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (!full[i]) sum += shares[i];
    if (sum <= 0) return;
    const double scale = left / sum;
    bool again = false;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (full[i]) continue;
      shares[i] *= scale;
      if (shares[i] < most * (1 - 1e-12)) continue;
      again = again || shares[i] > most;
      shares[i] = most;
      full[i] = true;
      left -= most;
    }
    if (!again) return;
  }
}

/// All tokens choose the experts of the first rank, then of the next.
std::vector<double> adversarial(std::size_t count, std::size_t per_token) {
  std::vector<double> shares(count, 0);
  for (std::size_t i = 0; i < per_token; ++i)
    shares[i] = static_cast<double>(count) / static_cast<double>(per_token);
  return shares;
}

ExpertLoad load_of(const std::vector<double>& shares, double capacity, int ranks) {
  const std::size_t each = shares.size() / static_cast<std::size_t>(ranks);
  ExpertLoad load{0, 0};
  for (std::size_t first = 0; first < shares.size(); first += each) {
    double sum = 0;
    for (std::size_t i = first; i < first + each; ++i)
      sum += capacity > 0 ? std::min(shares[i], capacity) : shares[i];
    load.mean += sum / static_cast<double>(shares.size());
    load.slowest = std::max(load.slowest, sum / static_cast<double>(each));
  }
  return load;
}

}  // namespace

ExpertLoad expert_load(const MoeSettings& settings, std::int64_t count, std::int64_t per_token,
                       int ranks) {
  const double capacity = settings.capacity;
  const Imbalance& law = settings.imbalance;
  const auto experts = static_cast<std::size_t>(count);
  if (law.law == ImbalanceLaw::Balanced)
    return load_of(std::vector<double>(experts, 1), capacity, ranks);
  if (law.law == ImbalanceLaw::Measured) {
    const double most = std::min(law.value, static_cast<double>(ranks));
    return {1, capacity > 0 ? std::min(most, std::max(capacity, 1.0)) : most};
  }
  if (law.law == ImbalanceLaw::Adversarial)
    return load_of(adversarial(experts, static_cast<std::size_t>(per_token)), capacity, ranks);
  base::Rng rng(law.seed);
  ExpertLoad sum{0, 0};
  for (int layer = 0; layer < kDraws; ++layer) {
    std::vector<double> shares = draw(law, experts, rng);
    normalise(shares, static_cast<double>(count) / static_cast<double>(per_token));
    const ExpertLoad one = load_of(shares, capacity, ranks);
    sum.mean += one.mean / kDraws;
    sum.slowest += one.slowest / kDraws;
  }
  return sum;
}

double distinct_parts(double count, double chosen, double parts) {
  if (parts <= 1) return 1;
  const double others = count - count / parts;  // experts outside a part
  double none = 1;
  for (double i = 0; i < chosen; ++i) none *= std::max(0.0, others - i) / (count - i);
  return parts * (1 - none);
}

}  // namespace paceline::models
