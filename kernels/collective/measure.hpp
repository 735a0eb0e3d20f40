// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "kernels/backend.hpp"
#include "kernels/collective/bandwidth.hpp"
#include "kernels/collective/communicator.hpp"

namespace paceline::kernels {

struct CollectiveOptions {
  DType type = DType::F32;  ///< not one of the 8-bit floats
  int repetitions = 15;
  base::Seconds batch{2e-3};  ///< a repetition takes at least this long, or is one call
  base::Seconds most{3};      ///< for all repetitions; fewer of slow calls, at least three
  std::uint64_t seed = 1;     ///< of the data
};

struct CollectiveMeasurement {
  base::Bytes size;           ///< of the full array, see bandwidth()
  base::Seconds median, min;  ///< of one call, of the slowest rank
  base::Seconds spread;       ///< between the quartiles
  int repetitions = 0;
  std::int64_t calls = 1;  ///< in a repetition
  Bandwidth rates;         ///< at the median
};

/// Times a collective of all members on tensors of the backend, `bytes` long (rounded down to whole
/// elements, the same number for every rank where they share the array): out of place, and for
/// send_recv every rank to the next while it receives from the one before. On GPUs in batches, as
/// nccl-tests does; on a processor call by call, all ranks at the same time and with cold caches.
/// Before and after, its result is compared with what it must be, in whole numbers that no rounding
/// touches. All members return the same, or throw the same: base::Error when an element is wrong on
/// any rank, or there is not enough memory. `bytes` >= 0.
CollectiveMeasurement measure_collective(CollectiveKind kind, std::int64_t bytes,
                                         const Communicator& communicator, const Backend& backend,
                                         const CollectiveOptions& options = {});

namespace detail {

/// What rank r of n puts at place i: whole numbers from 1 whose sum over all ranks is at most 255,
/// which every type but the 8-bit floats holds; 0 from the 256th rank on.
double given(std::uint64_t seed, int ranks, int rank, std::int64_t i);

/// What a collective of `count` elements (of the full array) reads and writes on one rank.
struct CollectiveData {
  CollectiveKind kind;
  DType type;
  std::int64_t count;
  int rank, ranks;
  std::uint64_t seed;
  std::int64_t send_count() const;
  std::int64_t recv_count() const;
  double sent(std::int64_t i) const;      ///< element i of the input
  double expected(std::int64_t i) const;  ///< and of the result
};

/// "" or which element of the result is wrong. Arrays beyond 2^22 elements: every so-manieth one,
/// and the first and last of every rank's part.
std::string wrong_element(const CollectiveData& data, const void* result);

}  // namespace detail
}  // namespace paceline::kernels
