// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/collective/communicator.hpp"

/// Reductions of values that travel encoded: compositions of the plain collectives with a codec's
/// two functions, which the caller gives. They enqueue on the stream they are told, as collectives
/// do. All tensors are the caller's, in the memory the communicator's provider works on.
namespace paceline::kernels {

inline Tensor part_of(const Tensor& whole, std::int64_t from, std::int64_t count) {
  PACELINE_CHECK(from >= 0 && count >= 0 && from + count <= whole.count);
  const auto offset = static_cast<std::size_t>(from) * bytes_of(whole.type);
  return {whole.data == nullptr ? nullptr : whole.as<std::byte>() + offset, whole.type, count};
}

/// Everyone gets everyone's encoded values and combines them itself: right for codes that are only
/// meaningful together, such as the votes of packed signs, and for few ranks. Every rank receives
/// (n-1) times the wire.
///   wire:     bytes of one rank (u8); gathered: n times as many
///   encode(const Tensor& wire, Stream)                fills it from the caller's values
///   combine(const Tensor& gathered, int n, Stream)    decodes rank 0's wire, rank 1's, …
template <class Encode, class Combine>
void gathered_all_reduce(const Communicator& c, const Tensor& wire, const Tensor& gathered,
                         Encode&& encode, Combine&& combine, Stream stream = {}) {
  PACELINE_CHECK(wire.type == DType::U8 && gathered.count == c.size() * wire.count);
  encode(wire, stream);
  all_gather(c, wire, gathered, stream);
  combine(gathered, c.size(), stream);
}

/// Memory of compressed_all_reduce on n ranks, for one that has `values.count / n` elements in
/// `wire_bytes` bytes.
struct CompressedMemory {
  Tensor out, in;  ///< u8, n * wire_bytes each
  Tensor sum;      ///< of values' type, values.count / n
};

/// values = sum over all ranks of what decode makes of encode's bytes, encoded and decoded once
/// more: rank r adds up part r, and everyone gets the sums. Every rank sends 2 (n-1)/n of a wire of
/// all its values, where gathered_all_reduce sends n-1 of them. Both losses are the codec's own;
/// error feedback is the caller's. The scheme of 1-bit Adam's compressed all-reduce (Tang et al.,
/// arXiv:2102.02888: all-to-all, average, all-gather).
///   values.count must be a multiple of n
///   encode(const Tensor& values, const Tensor& wire, Stream)
///   decode(const Tensor& wire, const Tensor& values, Stream)        values = …
///   decode_add(const Tensor& wire, const Tensor& values, Stream)    values += …
template <class Encode, class Decode, class DecodeAdd>
void compressed_all_reduce(const Communicator& c, const Tensor& values, std::int64_t wire_bytes,
                           const CompressedMemory& memory, Encode&& encode, Decode&& decode,
                           DecodeAdd&& decode_add, Stream stream = {}) {
  const int n = c.size();
  const std::int64_t count = values.count / n;
  PACELINE_CHECK(values.count == count * n && memory.sum.count == count);
  PACELINE_CHECK(memory.sum.type == values.type && memory.out.type == DType::U8);
  PACELINE_CHECK(memory.out.count == n * wire_bytes && memory.in.count == n * wire_bytes);
  for (int r = 0; r < n; ++r)
    encode(part_of(values, r * count, count), part_of(memory.out, r * wire_bytes, wire_bytes),
           stream);
  all_to_all(c, memory.out, memory.in, stream);
  for (int r = 0; r < n; ++r) {
    const Tensor wire = part_of(memory.in, r * wire_bytes, wire_bytes);
    r == 0 ? decode(wire, memory.sum, stream) : decode_add(wire, memory.sum, stream);
  }
  const Tensor own = part_of(memory.out, c.rank() * wire_bytes, wire_bytes);
  encode(memory.sum, own, stream);
  all_gather(c, own, memory.out, stream);
  for (int r = 0; r < n; ++r)
    decode(part_of(memory.out, r * wire_bytes, wire_bytes), part_of(values, r * count, count),
           stream);
}

/// values = decode(all_reduce of encode(values)), for codes that can be added as they are: bf16, or
/// projections onto the same basis. `code`: memory for the encoded values, of the type that is
/// added.
///   encode(const Tensor& values, const Tensor& code, Stream), decode(code, values, Stream)
template <class Encode, class Decode>
void coded_all_reduce(const Communicator& c, const Tensor& values, const Tensor& code,
                      Encode&& encode, Decode&& decode, Stream stream = {}) {
  encode(values, code, stream);
  all_reduce(c, code, code, Reduction::Sum, stream);
  decode(code, values, stream);
}

/// Selected values of one rank: value i belongs to place indices[i] of the whole array.
struct Sparse {
  Tensor indices;  ///< u32
  Tensor values;
};

/// How many elements every rank selected. Waits: sizes of what follows depend on it.
inline std::vector<std::int64_t> gather_counts(const Communicator& c, std::int64_t count) {
  std::vector<std::int64_t> counts;
  for (const double value : gather_values(c, static_cast<double>(count)))
    counts.push_back(static_cast<std::int64_t>(value));
  return counts;
}

/// Everyone gets everyone's selected values, in the order of the ranks, and adds them itself. The
/// counts may differ from rank to rank and be 0.
///   gathered: memory for the selections of all ranks, indices and values of the same count
///   add(const Sparse& all, std::span<const std::int64_t> counts, Stream)
/// Returns the counts. base::Error when `gathered` is too small for them.
template <class Add>
std::vector<std::int64_t> sparse_all_reduce(const Communicator& c, const Sparse& own,
                                            const Sparse& gathered, Add&& add, Stream stream = {}) {
  PACELINE_CHECK(own.indices.type == DType::U32 && own.indices.count == own.values.count);
  PACELINE_CHECK(gathered.indices.count == gathered.values.count);
  std::vector<std::int64_t> counts = gather_counts(c, own.values.count);
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (all > gathered.values.count)
    throw base::Error("sparse all_reduce", "the ranks selected " + std::to_string(all) +
                                               " values and there is room for " +
                                               std::to_string(gathered.values.count));
  const Sparse result{part_of(gathered.indices, 0, all), part_of(gathered.values, 0, all)};
  all_gather_v(c, own.indices, result.indices, counts, stream);
  all_gather_v(c, own.values, result.values, counts, stream);
  add(result, std::span<const std::int64_t>(counts), stream);
  return counts;
}

}  // namespace paceline::kernels
