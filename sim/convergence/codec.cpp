// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/codec.hpp"

#include <algorithm>
#include <cmath>

#include "models/compression/parts.hpp"

namespace paceline::sim::convergence {
namespace {

/// Whether elements are chosen one by one, wherever they stand.
bool chooses(const models::Codec& codec) {
  const auto takes = [&](std::string_view key) {
    return std::find(codec.keys.begin(), codec.keys.end(), key) != codec.keys.end();
  };
  return takes("keep") && !takes("block");
}

std::int64_t trip(const Codec& codec, const Block& block, models::CodecState& state,
                  std::uint64_t seed, std::span<float> values) {
  const models::CodecTensor tensor{static_cast<double>(block.rows),
                                   static_cast<double>(block.columns), 1, 4};
  const auto wire =
      static_cast<std::int64_t>(codec.kind->encoded(codec.settings, tensor).wire_bytes);
  const auto plain = 4 * static_cast<std::int64_t>(block.size());
  if (wire >= plain) return plain;
  state.seed = seed;
  state.residual.clear();  // transfer() keeps what is lost
  codec.kind->round_trip(
      codec.settings,
      {values.subspan(block.first, block.size()), static_cast<std::size_t>(block.rows),
       static_cast<std::size_t>(block.columns)},
      state);
  return wire;
}

std::int64_t all_trips(const Codec& codec, std::span<const Block> blocks, CodecState& state,
                       std::uint64_t seed, std::span<float> values) {
  if (chooses(*codec.kind)) {
    state.pieces.resize(1);
    const Block all{"", 0, 1, static_cast<int>(values.size())};
    return trip(codec, all, state.pieces.front(), seed, values);
  }
  std::int64_t bytes = 0;
  state.pieces.resize(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b)
    bytes += trip(codec, blocks[b], state.pieces[b], seed + b, values);
  return bytes;
}

}  // namespace

Codec read_codec(base::Fields& fields, std::string_view key) {
  Codec codec;
  codec.settings.values = models::Precision::Fp32;
  const base::Value* value = fields.find(key);
  if (value == nullptr) return codec;
  const auto named = [](const std::string& name, const std::string& where) {
    return name == "fp32" ? nullptr : &models::codec_named(name, where);
  };
  if (value->kind == base::Value::Kind::Scalar) {
    codec.kind = named(fields.text(key), fields.where(key));
    return codec;
  }
  base::Fields own = fields.map(key);
  codec.kind = named(own.text("kind"), own.where("kind"));
  if (codec.kind != nullptr) {
    const bool typed = own.has("values");
    codec.settings = models::read_codec_settings(*codec.kind, own);
    if (!typed) codec.settings.values = models::Precision::Fp32;
  }
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
  if (codec.kind == nullptr) return 4 * static_cast<std::int64_t>(values.size());
  const std::uint64_t own = stream_seed(seed, Stream::Codec);
  if (!codec.feedback) return all_trips(codec, blocks, state, own, values);
  state.residual.resize(values.size(), 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) state.residual[i] += values[i];
  std::copy(state.residual.begin(), state.residual.end(), values.begin());
  const std::int64_t bytes = all_trips(codec, blocks, state, own, values);
  for (std::size_t i = 0; i < values.size(); ++i) state.residual[i] -= values[i];
  return bytes;
}

std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count) {
  std::vector<std::uint32_t> order;
  for (const std::size_t i : models::codec_parts::largest(values, static_cast<std::int64_t>(count)))
    order.push_back(static_cast<std::uint32_t>(i));
  std::sort(order.begin(), order.end());
  return order;
}

std::size_t kept_count(double keep, std::size_t size) {
  const auto count = static_cast<std::size_t>(std::llround(keep * static_cast<double>(size)));
  return std::clamp<std::size_t>(count, 1, size);
}

}  // namespace paceline::sim::convergence
