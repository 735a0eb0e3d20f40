// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/numeric/low_rank.hpp"
#include "base/numeric/scaled_codes.hpp"
#include "base/numeric/sparse_codes.hpp"
#include "base/numeric/votes.hpp"
#include "base/table.hpp"
#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {
namespace {

float largest_magnitude(std::span<const float> values) {
  std::uint32_t most = 0;
  for (const float x : values) most = std::max(most, numeric::finite_magnitude(x));
  return numeric::float_of(most);
}

template <class Code>
void scaled_round_trip(std::span<float> values) {
  const float scale = numeric::scale_of(largest_magnitude(values), Code::top());
  const float inverse = 1.0F / scale;
  for (float& x : values) x = Code::decode(Code::encode(x * inverse)) * scale;
}

template <class Code>
std::int64_t scaled_blocks_trip(std::span<const Block> blocks, std::span<float> values) {
  std::int64_t bytes = 0;
  for (const Block& block : blocks) {
    scaled_round_trip<Code>(values.subspan(block.first, block.size()));
    bytes += numeric::scaled_bytes(static_cast<std::int64_t>(block.size()), 0);
  }
  return bytes;
}

std::int64_t exact_trip(const Codec&, std::span<const Block>, CodecState&, base::Rng&,
                        std::span<float> values) {
  return 4 * static_cast<std::int64_t>(values.size());
}
std::int64_t bf16_trip(const Codec&, std::span<const Block>, CodecState&, base::Rng&,
                       std::span<float> values) {
  for (float& x : values) x = static_cast<float>(numeric::bf16(x));
  return 2 * static_cast<std::int64_t>(values.size());
}
std::int64_t e4m3_trip(const Codec&, std::span<const Block> blocks, CodecState&, base::Rng&,
                       std::span<float> values) {
  return scaled_blocks_trip<numeric::E4m3Code>(blocks, values);
}
std::int64_t e5m2_trip(const Codec&, std::span<const Block> blocks, CodecState&, base::Rng&,
                       std::span<float> values) {
  return scaled_blocks_trip<numeric::E5m2Code>(blocks, values);
}
std::int64_t int8_trip(const Codec&, std::span<const Block> blocks, CodecState&, base::Rng&,
                       std::span<float> values) {
  return scaled_blocks_trip<numeric::Int8Code>(blocks, values);
}

std::int64_t nvfp4_trip(const Codec&, std::span<const Block> blocks, CodecState&, base::Rng&,
                        std::span<float> values) {
  std::int64_t bytes = 0;
  for (const Block& block : blocks) {
    const std::span<float> all = values.subspan(block.first, block.size());
    const float tensor = numeric::nvfp4_tensor_scale(largest_magnitude(all));
    for (std::size_t i = 0; i < all.size(); i += numeric::kNvfp4Block) {
      const auto some = all.subspan(i, std::min<std::size_t>(numeric::kNvfp4Block, all.size() - i));
      const float scale =
          numeric::nvfp4_scale(numeric::nvfp4_block_code(largest_magnitude(some), tensor), tensor);
      const float inverse = numeric::nvfp4_inverse(scale);
      for (float& x : some) x = numeric::E2m1::decode(numeric::E2m1::encode(x * inverse)) * scale;
    }
    bytes += numeric::nvfp4_bytes(static_cast<std::int64_t>(block.size()));
  }
  return bytes;
}

double mean_magnitude(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += std::fabs(static_cast<double>(x));
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Signs, and the mean magnitude of each block (Karimireddy et al., Error feedback fixes SignSGD,
// arXiv:1901.09847, section 4).
std::int64_t sign_trip(const Codec&, std::span<const Block> blocks, CodecState&, base::Rng&,
                       std::span<float> values) {
  std::int64_t bytes = 0;
  for (const Block& block : blocks) {
    const std::span<float> all = values.subspan(block.first, block.size());
    const auto scale = static_cast<float>(mean_magnitude(all));
    for (float& x : all) x = numeric::sign_value(numeric::bits_of(x) >> 31, 0, scale);
    bytes += numeric::sign_bytes(static_cast<std::int64_t>(all.size())) + 4;
  }
  return bytes;
}

// What exceeds the threshold becomes plus or minus the mean of what does (Li, Zhang, Liu, Ternary
// weight networks, arXiv:1605.04711, section 2.2).
std::int64_t ternary_trip(const Codec& codec, std::span<const Block> blocks, CodecState&,
                          base::Rng&, std::span<float> values) {
  std::int64_t bytes = 0;
  for (const Block& block : blocks) {
    const std::span<float> all = values.subspan(block.first, block.size());
    const auto threshold = static_cast<float>(codec.threshold * mean_magnitude(all));
    double sum = 0, count = 0;
    for (const float x : all) {
      if (!numeric::is_plus(x, threshold) && !numeric::is_minus(x, threshold)) continue;
      sum += std::fabs(static_cast<double>(x));
      ++count;
    }
    const auto scale = static_cast<float>(count > 0 ? sum / count : 0);
    for (float& x : all) {
      x = numeric::ternary_value(numeric::is_plus(x, threshold) ? 1U : 0U,
                                 numeric::is_minus(x, threshold) ? 1U : 0U, 0, scale);
    }
    bytes += numeric::ternary_bytes(static_cast<std::int64_t>(all.size())) + 4;
  }
  return bytes;
}

/// Zeros wherever `kept` (ascending) does not point.
void keep_only(std::span<const std::uint32_t> kept, std::span<float> values) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (next < kept.size() && kept[next] == i) {
      ++next;
    } else {
      values[i] = 0;
    }
  }
}
/// The cheaper of the two sparse forms.
std::int64_t sparse_bytes(std::size_t size, std::size_t kept) {
  const auto n = static_cast<std::int64_t>(size), k = static_cast<std::int64_t>(kept);
  return std::min(numeric::bitvector_bytes(n, k, 4), numeric::coordinate_bytes(k, 4));
}

std::int64_t top_k_trip(const Codec& codec, std::span<const Block>, CodecState&, base::Rng&,
                        std::span<float> values) {
  const std::size_t count = kept_count(codec.keep, values.size());
  keep_only(largest(values, count), values);
  return sparse_bytes(values.size(), count);
}

/// Sender and receiver draw the same places, so only values are sent.
std::int64_t random_k_trip(const Codec& codec, std::span<const Block>, CodecState&, base::Rng& rng,
                           std::span<float> values) {
  const std::size_t count = kept_count(codec.keep, values.size());
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(order[i], order[i + rng.below(order.size() - i)]);
  order.resize(count);
  std::sort(order.begin(), order.end());
  keep_only(order, values);
  return 4 * static_cast<std::int64_t>(count);
}

/// PowerSGD by block, Q kept from the last time; blocks that are no larger than their factors go
/// as they are.
std::int64_t low_rank_trip(const Codec& codec, std::span<const Block> blocks, CodecState& state,
                           base::Rng& rng, std::span<float> values) {
  std::int64_t bytes = 0;
  state.factors.resize(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Block& block = blocks[b];
    const int rank = std::min({codec.rank, block.rows, block.columns});
    const std::int64_t factors = numeric::low_rank_bytes(block.rows, block.columns, rank);
    if (factors >= 4 * static_cast<std::int64_t>(block.size())) {
      bytes += 4 * static_cast<std::int64_t>(block.size());
      continue;
    }
    std::vector<double>& kept = state.factors[b];
    if (kept.empty()) {
      kept.resize(static_cast<std::size_t>(block.columns * rank));
      for (double& q : kept) q = base::standard_normal(rng);
    }
    Eigen::Map<Matrix> q(kept.data(), block.columns, rank);
    const Matrix m = matrix_of(values, block);
    const Matrix p = orthonormal(m * q);
    q = m.transpose() * p;
    store(p * q.transpose(), block, values);
    bytes += factors;
  }
  return bytes;
}

constexpr std::array<CodecKind, 11> kCodecs{{
    {"fp32", "as it is", &exact_trip},
    {"bf16", "upper half of fp32", &bf16_trip},
    {"fp8-e4m3", "8 bits and a scale per block of weights", &e4m3_trip},
    {"fp8-e5m2", "8 bits with a wider range", &e5m2_trip},
    {"int8", "whole numbers and a scale", &int8_trip},
    {"nvfp4", "4 bits, a scale per 16", &nvfp4_trip},
    {"sign", "signs and their mean magnitude", &sign_trip},
    {"ternary", "-1, 0, 1 and a magnitude", &ternary_trip},
    {"top-k", "the largest magnitudes alone", &top_k_trip},
    {"random-k", "places drawn at random", &random_k_trip},
    {"low-rank", "two thin factors (PowerSGD)", &low_rank_trip},
}};

}  // namespace

std::span<const CodecKind> codec_kinds() { return kCodecs; }

Codec read_codec(base::Fields& fields, std::string_view key) {
  Codec codec;
  const base::Value* value = fields.find(key);
  if (value == nullptr) return codec;
  if (value->kind == base::Value::Kind::Scalar) {
    codec.kind = &base::find(codec_kinds(), fields.text(key), fields.where(key), "codec");
    return codec;
  }
  base::Fields own = fields.map(key);
  codec.kind = &base::find(codec_kinds(), own.text("kind"), own.where("kind"), "codec");
  codec.keep = read_share(own, "keep", codec.keep);
  codec.rank = static_cast<int>(own.integer("rank", 1, numeric::kMaxRank, codec.rank));
  codec.threshold = own.number("threshold", 0, 1e6, codec.threshold);
  codec.feedback = own.flag("feedback", codec.feedback);
  own.done();
  return codec;
}

double read_share(base::Fields& fields, std::string_view key, double fallback) {
  const double share = fields.number(key, 0, 1, fallback);
  if (share == 0) fields.fail(key, "0 is nothing", "a share in (0, 1]");
  return share;
}

std::int64_t transfer(const Codec& codec, std::span<const Block> blocks, CodecState& state,
                      std::uint64_t seed, std::span<float> values) {
  const std::uint64_t call = state.calls++;
  if (codec.kind == nullptr) return 4 * static_cast<std::int64_t>(values.size());
  base::Rng rng(stream_seed(seed, Stream::Codec, call));
  if (!codec.feedback) return codec.kind->round_trip(codec, blocks, state, rng, values);
  state.residual.resize(values.size(), 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) state.residual[i] += values[i];
  std::copy(state.residual.begin(), state.residual.end(), values.begin());
  const std::int64_t bytes = codec.kind->round_trip(codec, blocks, state, rng, values);
  for (std::size_t i = 0; i < values.size(); ++i) state.residual[i] -= values[i];
  return bytes;
}

std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), middle, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t x = numeric::rank_key(values[a]), y = numeric::rank_key(values[b]);
    return x != y ? x > y : a < b;
  });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

std::size_t kept_count(double keep, std::size_t size) {
  const auto count = static_cast<std::size_t>(std::llround(keep * static_cast<double>(size)));
  return std::clamp<std::size_t>(count, 1, size);
}

void e4m3_round_trip(std::span<float> values) { scaled_round_trip<numeric::E4m3Code>(values); }
void e5m2_round_trip(std::span<float> values) { scaled_round_trip<numeric::E5m2Code>(values); }

}  // namespace paceline::sim::convergence
