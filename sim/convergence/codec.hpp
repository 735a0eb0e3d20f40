// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/rng.hpp"
#include "sim/convergence/objective.hpp"

/// What encoding and decoding does to numbers, with the arithmetic that kernels use.
namespace paceline::sim::convergence {

struct CodecKind;

struct Codec {
  const CodecKind* kind = nullptr;  ///< null: nothing is lost
  double keep = 0.1;                ///< of sparse codecs: the share that is sent, in (0, 1]
  int rank = 4;                     ///< of low-rank
  double threshold = 0.5;           ///< of ternary: of the mean magnitude
  bool feedback = false;            ///< add what was lost to the next values
};

/// Of one sender of one array.
struct CodecState {
  std::vector<float> residual;               ///< with feedback: what was lost so far
  std::vector<std::vector<double>> factors;  ///< of low-rank: Q of the last time, by block
  std::uint64_t calls = 0;
};

/// Replaces values by what the receiver gets; returns the bytes on the wire.
using RoundTrip = std::int64_t (*)(const Codec&, std::span<const Block>, CodecState&, base::Rng&,
                                   std::span<float> values);

struct CodecKind {
  std::string_view name, summary;
  RoundTrip round_trip;
};
std::span<const CodecKind> codec_kinds();

/// `{kind: NAME, keep: 0.01, feedback: true}` or a name alone.
Codec read_codec(base::Fields& fields, std::string_view key);

/// A number in (0, 1].
double read_share(base::Fields& fields, std::string_view key, double fallback);

/// One transfer of `values`, cut into `blocks`; feedback included.
std::int64_t transfer(const Codec& codec, std::span<const Block> blocks, CodecState& state,
                      std::uint64_t seed, std::span<float> values);

/// Indices of the `count` largest magnitudes, ascending; equal ones: the smaller index.
std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count);
/// How many of `size` the share `keep` is, at least one.
std::size_t kept_count(double keep, std::size_t size);

/// Per-tensor codes of a float format with the absmax scale of base/numeric/scaled_codes.hpp.
void e4m3_round_trip(std::span<float> values);
void e5m2_round_trip(std::span<float> values);

}  // namespace paceline::sim::convergence
