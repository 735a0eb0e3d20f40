// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "models/compression/codec.hpp"
#include "sim/convergence/objective.hpp"

/// What encoding and decoding does to numbers: the codecs of models/compression, block by block.
namespace paceline::sim::convergence {

struct Codec {
  const models::Codec* kind = nullptr;  ///< null: nothing is lost
  models::CodecSettings settings;
  bool feedback = false;  ///< add what was lost to the next values
};

/// Of one sender of one array.
struct CodecState {
  std::vector<float> residual;             ///< with feedback: what was lost so far
  std::vector<models::CodecState> pieces;  ///< by block, or one where all are one piece
};

/// `{kind: NAME, feedback: true, ...}` with the codec's own options, or a name alone; `fp32`: none.
/// Numbers that are sent as numbers are fp32.
Codec read_codec(base::Fields& fields, std::string_view key);

/// A number in (0, 1].
double read_share(base::Fields& fields, std::string_view key, double fallback);

/// One transfer of `values`, cut into `blocks`; feedback included. Codecs that choose elements
/// choose among all of them; blocks whose code would be no shorter go as they are. Bytes on the
/// wire.
std::int64_t transfer(const Codec& codec, std::span<const Block> blocks, CodecState& state,
                      std::uint64_t seed, std::span<float> values);

/// Indices of the `count` largest magnitudes, ascending; equal ones: the smaller index.
std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count);
/// How many of `size` the share `keep` is, at least one.
std::size_t kept_count(double keep, std::size_t size);

}  // namespace paceline::sim::convergence
