// SPDX-License-Identifier: Apache-2.0
#include "models/compression/codec.hpp"

#include <algorithm>

#include "base/table.hpp"
#include "models/cost/kernel.hpp"

namespace paceline::models {

#define PACELINE_CODEC(name) Codec name##_codec();
#include "models/compression/codecs.def"
#undef PACELINE_CODEC

const std::vector<Codec>& codecs() {
  static const std::vector<Codec> all{
#define PACELINE_CODEC(name) name##_codec(),
#include "models/compression/codecs.def"
#undef PACELINE_CODEC
  };
  return all;
}

const Codec& codec_named(std::string_view name, const std::string& where) {
  return base::find(codecs(), name, where, "codec");
}

namespace {

/// The columns of factors, and how far blocks, refresh periods and codebooks can go.
constexpr std::int64_t kMostRank = 1 << 16, kMost = std::int64_t{1} << 40;

double share(base::Fields& fields, std::string_view key, double otherwise) {
  const double value = fields.number(key, 0, 1, otherwise);
  if (value <= 0) fields.fail(key, "is not above 0", "a share of the elements, for example 0.01");
  return value;
}

}  // namespace

CodecSettings read_codec_settings(const Codec& codec, base::Fields& fields) {
  CodecSettings s;
  const auto takes = [&](std::string_view key) {
    return std::find(codec.keys.begin(), codec.keys.end(), key) != codec.keys.end();
  };
  if (takes("keep")) s.keep = share(fields, "keep", s.keep);
  if (takes("density")) s.density = share(fields, "density", s.density);
  if (takes("rank")) s.rank = fields.integer("rank", 1, kMostRank, s.rank);
  if (takes("block")) s.block = fields.integer("block", 0, kMost, s.block);
  if (takes("refresh")) s.refresh = fields.integer("refresh", 1, kMost, s.refresh);
  if (takes("tokens")) s.tokens = fields.number("tokens", 1, 1e12, s.tokens);
  if (takes("codebook")) {
    s.codebook = fields.integer("codebook", 0, kMostRank, s.codebook);
    if (s.codebook == 1)
      fields.fail("codebook", "of one word says nothing", "0: none, or 2 and more");
    s.split = fields.integer("split", 1, s.rank, s.split);
    s.levels = fields.integer("levels", 1, 16, s.levels);
  }
  if (takes("values")) s.values = fields.choice<Precision>("values", kPrecisions, s.values);
  return s;
}

base::Seconds codec_time(const KernelModel& model, std::span<const CodecKernel> kernels) {
  double sum = 0;
  for (const CodecKernel& kernel : kernels) {
    const KernelCurve* curve =
        find_curve(model.curves, kernel.kernel, kernel.pass, kernel.type, kernel.extents);
    double seconds = 0;
    if (curve != nullptr) {
      const auto size = kernel_size(kernel_kind(kernel.kernel), kernel.extents);
      PACELINE_CHECK(size.has_value());
      seconds = curve_time(*curve, *size, base::Seconds(model.launch)).value;
    } else if (kernel.m > 0) {
      seconds =
          gemm_time(model, Precision::Bf16, kernel.m, kernel.n, kernel.k, 1, false, true).value;
    } else {
      seconds = kernel.bytes / model.stream + model.launch;
    }
    sum += seconds * kernel.share * kernel.times;
  }
  return base::Seconds(sum);
}

}  // namespace paceline::models
