// SPDX-License-Identifier: Apache-2.0
#include "models/cost/sparse_collective.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace paceline::models {
namespace {

constexpr double kIndexBytes = 4;

/// Time of one ring step that moves `bytes` to the next rank; `latency` once a step.
struct Ring {
  double latency = 0;
  double seconds_per_byte = 0;
};

/// The Simple ring of the white box as a line through two large sizes, per step.
Ring ring_of(CollectiveOp op, const CollectiveGroup& group, const NcclRelease& release) {
  CollectiveGroup g = group;
  g.algorithms = 1u << static_cast<unsigned>(CollectiveAlgorithm::Ring);
  g.protocols = 1u << static_cast<unsigned>(CollectiveProtocol::Simple);
  g.tuner = false;
  const double n = group.ranks, small = 1e8, large = 1e9;
  const double a = white_box_time(op, base::Bytes(small), g, release).time.value;
  const double b = white_box_time(op, base::Bytes(large), g, release).time.value;
  Ring ring;
  ring.seconds_per_byte = (b - a) / (large - small) * n / (n - 1);
  ring.latency = (a - (b - a) / (large - small) * small) / (n - 1);
  return ring;
}

/// One pass round the ring: n - 1 steps of a chunk of `elements`, the k-th at density(k).
template <class Density>
void pass(SparseTime& total, const Ring& ring, int ranks, double elements, int value_bytes,
          double threshold, base::BytesPerSecond codec, Density density) {
  const base::Bytes dense(elements * value_bytes);
  for (int k = 1; k < ranks; ++k) {
    const double d = density(k);
    const SparseFormat format = choose_format(elements, d, value_bytes, threshold);
    const bool plain = format == SparseFormat::Dense;
    const base::Bytes sent = plain ? dense : sparse_slot_bytes(format, elements, d, value_bytes);
    const double wire = sent.value * ring.seconds_per_byte;
    const double busy = plain ? wire : std::max(wire, (dense / codec).value);
    total.time = total.time + base::Seconds(ring.latency + busy);
    total.sent = total.sent + sent;
  }
}

}  // namespace

std::string_view to_text(SparseFormat format) {
  switch (format) {
    case SparseFormat::Dense:
      return "dense";
    case SparseFormat::Bitvector:
      return "bitvector";
    case SparseFormat::Coordinates:
      return "coordinates";
  }
  return "";
}

base::Bytes sparse_bytes(SparseFormat format, double elements, double density, int value_bytes) {
  PACELINE_CHECK(elements >= 0 && density >= 0 && density <= 1 && value_bytes > 0);
  const double nonzeros = density * elements;
  switch (format) {
    case SparseFormat::Dense:
      return base::Bytes(elements * value_bytes);
    case SparseFormat::Bitvector:
      return base::Bytes(nonzeros * value_bytes + std::ceil(elements / 8) +
                         4 * std::ceil(elements / kSparseTile));
    case SparseFormat::Coordinates:
      return base::Bytes(nonzeros * (value_bytes + kIndexBytes));
  }
  return {};
}

base::Bytes sparse_slot_bytes(SparseFormat format, double elements, double density,
                              int value_bytes) {
  const double bytes = sparse_bytes(format, elements, density, value_bytes).value + kSparseHeader;
  return base::Bytes(std::ceil(bytes / kSparsePadding) * kSparsePadding);
}

BitvectorRange bitvector_range(int value_bytes) {
  PACELINE_CHECK(value_bytes > 0);
  const double bits = 1.0 / 8 + 4 / kSparseTile;  // bytes per element beside the values
  return {bits / kIndexBytes, 1 - bits / value_bytes};
}

SparseFormat choose_format(double elements, double density, int value_bytes, double threshold) {
  if (density >= 1 - threshold) return SparseFormat::Dense;
  const auto bytes = [&](SparseFormat f) {
    return sparse_bytes(f, elements, density, value_bytes);
  };
  return bytes(SparseFormat::Bitvector) < bytes(SparseFormat::Coordinates)
             ? SparseFormat::Bitvector
             : SparseFormat::Coordinates;
}

double summed_density(double density, int addends) {
  PACELINE_CHECK(density >= 0 && density <= 1 && addends >= 0);
  return 1 - std::pow(1 - density, addends);
}

SparseTime sparse_collective_time(CollectiveOp op, base::Bytes size, double density,
                                  int value_bytes, const CollectiveGroup& group,
                                  const NcclRelease& release, const SparseSettings& settings) {
  const bool scatters = op != CollectiveOp::AllGather, gathers = op != CollectiveOp::ReduceScatter;
  PACELINE_CHECK(op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter ||
                 op == CollectiveOp::AllReduce);
  const int n = group.ranks;
  SparseTime total;
  total.final_density = scatters ? summed_density(density, n) : density;
  if (n <= 1 || size.value <= 0) return total;
  const double elements = size.value / value_bytes / n;
  if (scatters) {
    const double threshold = group.domains > 1 ? settings.reduce_across : settings.reduce_inside;
    pass(total, ring_of(CollectiveOp::ReduceScatter, group, release), n, elements, value_bytes,
         threshold, settings.codec, [&](int k) { return summed_density(density, k); });
  }
  if (gathers)
    pass(total, ring_of(CollectiveOp::AllGather, group, release), n, elements, value_bytes,
         settings.gather, settings.codec, [&](int) { return total.final_density; });
  return total;
}

double sparse_speed_up(CollectiveOp op, base::Bytes size, double sparsity, int value_bytes,
                       const CollectiveGroup& group, const NcclRelease& release,
                       const SparseSettings& settings) {
  const double sparse =
      sparse_collective_time(op, size, 1 - sparsity, value_bytes, group, release, settings)
          .time.value;
  if (sparse <= 0) return 1;
  return collective_time(op, size, group, release).time.value / sparse;
}

}  // namespace paceline::models
