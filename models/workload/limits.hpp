// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

/// Largest sizes a model may state: far above any real one, and small enough that the parameters of
/// one layer (at most experts * 2 * width * hidden) stay below 2^62.
namespace paceline::models::limits {

inline constexpr std::int64_t kHidden = std::int64_t{1} << 20;
inline constexpr std::int64_t kVocab = std::int64_t{1} << 24;
inline constexpr std::int64_t kLayers = 10'000;
inline constexpr std::int64_t kHeads = 1 << 16;
inline constexpr std::int64_t kHeadDim = 1 << 16;
inline constexpr std::int64_t kRank = std::int64_t{1} << 20;
inline constexpr std::int64_t kWidth = std::int64_t{1} << 24;
inline constexpr std::int64_t kExperts = 1 << 15;
inline constexpr std::int64_t kContext = std::int64_t{1} << 40;
inline constexpr double kParameters = 1e16;

}  // namespace paceline::models::limits
