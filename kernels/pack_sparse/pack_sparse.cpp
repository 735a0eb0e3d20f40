// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack_sparse/pack_sparse.hpp"

#include <algorithm>
#include <bit>

#include "kernels/codec/tables.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using numeric::bitvector_bit_bytes;
using numeric::bitvector_tiles;
using numeric::kSparseTileElements;

TensorSpec sparse_input(const Case& c) {
  return {"x",          Use::In,
          c.type,       c.shape["count"],
          Fill::Sparse, static_cast<double>(c.shape["nonzeros"])};
}

std::vector<TensorSpec> bitvector_encode_tensors(const Case& c) {
  const std::int64_t count = c.shape["count"];
  return {sparse_input(c),
          {"bits", Use::Out, DType::U8, bitvector_bit_bytes(count)},
          {"prefixes", Use::Out, DType::U32, bitvector_tiles(count)},
          {"values", Use::Out, c.type, c.shape["nonzeros"]},
          {"found", Use::Out, DType::U32, 1},
          {"scratch", Use::Scratch, DType::U32, scan_words(count)}};
}
// Bits and prefixes that do not belong together are decoded all the same.
std::vector<TensorSpec> bitvector_decode_tensors(const Case& c) {
  const std::int64_t count = c.shape["count"];
  const auto nonzeros = static_cast<double>(c.shape["nonzeros"]);
  return {{"bits", Use::In, DType::U8, bitvector_bit_bytes(count), Fill::Bits,
           nonzeros / static_cast<double>(count)},
          {"prefixes", Use::In, DType::U32, bitvector_tiles(count), Fill::Whole, nonzeros + 1},
          {"values", Use::In, c.type, c.shape["nonzeros"]},
          {"y", Use::Out, c.type, count}};
}
std::vector<TensorSpec> coo_encode_tensors(const Case& c) {
  return {sparse_input(c),
          {"indices", Use::Out, DType::U32, c.shape["nonzeros"]},
          {"values", Use::Out, c.type, c.shape["nonzeros"]},
          {"found", Use::Out, DType::U32, 1},
          {"scratch", Use::Scratch, DType::U32, scan_words(c.shape["count"])}};
}
std::vector<TensorSpec> coo_decode_tensors(const Case& c) {
  return {{"indices", Use::In, DType::U32, c.shape["nonzeros"], Fill::Ascending,
           static_cast<double>(c.shape["count"])},
          {"values", Use::In, c.type, c.shape["nonzeros"]},
          {"y", Use::Out, c.type, c.shape["count"]}};
}
Work work(const Case& c, std::int64_t wire) {
  return {static_cast<double>(c.shape["count"]), stored_bytes(c) + static_cast<double>(wire)};
}
Work bitvector_work(const Case& c) {
  return work(c, numeric::bitvector_bytes(c.shape["count"], c.shape["nonzeros"],
                                          static_cast<std::int64_t>(bytes_of(c.type))));
}
Work coo_work(const Case& c) {
  return work(c, numeric::coordinate_bytes(c.shape["nonzeros"],
                                           static_cast<std::int64_t>(bytes_of(c.type))));
}

void bitvector_encode_reference(const Case&, Values& v) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    if (i % 4096 == 0) v[2][i / 4096] = static_cast<double>(found);
    if (v[0][i] == 0) continue;
    v[1][i / 8] += static_cast<double>(1U << i % 8);
    v[3][found++] = v[0][i];
  }
  v[4][0] = static_cast<double>(found);
}
void bitvector_decode_reference(const Case&, Values& v) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < v[3].size(); ++i) {
    if (i % 4096 == 0) place = static_cast<std::size_t>(v[1][i / 4096]);
    if ((static_cast<unsigned>(v[0][i / 8]) >> i % 8 & 1U) == 0) continue;
    if (place < v[2].size()) v[3][i] = v[2][place];
    ++place;
  }
}
void coo_encode_reference(const Case&, Values& v) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    if (v[0][i] == 0) continue;
    v[1][found] = static_cast<double>(i);
    v[2][found++] = v[0][i];
  }
  v[3][0] = static_cast<double>(found);
}
void coo_decode_reference(const Case&, Values& v) {
  for (std::size_t k = 0; k < v[0].size(); ++k) v[2][static_cast<std::size_t>(v[0][k])] = v[1][k];
}

template <class T>
bool is_nonzero(T x) {
  return numeric::magnitude_of(static_cast<float>(x)) != 0;
}

template <class T>
void bitvector_encode_cpu(const Call& call) {
  const std::int64_t count = call["count"], places = call["nonzeros"];
  const T* x = call.at<T>(0);
  T* values = call.at<T>(3);
  std::int64_t found = 0;
  for (std::int64_t first = 0; first < count; first += 8) {
    if (first % kSparseTileElements == 0)
      call.at<std::uint32_t>(2)[first / kSparseTileElements] = static_cast<std::uint32_t>(found);
    unsigned bits = 0;
    const auto size = static_cast<int>(std::min<std::int64_t>(8, count - first));
    for (int i = 0; i < size; ++i) bits |= static_cast<unsigned>(is_nonzero(x[first + i])) << i;
    call.at<std::uint8_t>(1)[first / 8] = static_cast<std::uint8_t>(bits);
    for (; bits != 0; bits &= bits - 1, ++found) {
      if (found < places) values[found] = x[first + std::countr_zero(bits)];
    }
  }
  call.at<std::uint32_t>(4)[0] = static_cast<std::uint32_t>(found);
}
template <class T>
void bitvector_decode_cpu(const Call& call) {
  const std::int64_t count = call["count"], places = call["nonzeros"];
  T* y = call.at<T>(3);
  std::int64_t place = 0;
  for (std::int64_t first = 0; first < count; first += 8) {
    if (first % kSparseTileElements == 0)
      place = call.at<std::uint32_t>(1)[first / kSparseTileElements];
    const auto size = static_cast<int>(std::min<std::int64_t>(8, count - first));
    for (int i = 0; i < size; ++i) y[first + i] = T(0.0F);
    for (unsigned bits = call.at<std::uint8_t>(0)[first / 8]; bits != 0;
         bits &= bits - 1, ++place) {
      const int i = std::countr_zero(bits);
      if (i < size && place < places) y[first + i] = call.at<T>(2)[place];
    }
  }
}

template <class T>
void coo_encode_cpu(const Call& call) {
  const std::int64_t count = call["count"], places = call["nonzeros"];
  const T* x = call.at<T>(0);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_nonzero(x[i])) continue;
    if (found < places) {
      call.at<std::uint32_t>(1)[found] = static_cast<std::uint32_t>(i);
      call.at<T>(2)[found] = x[i];
    }
    ++found;
  }
  call.at<std::uint32_t>(3)[0] = static_cast<std::uint32_t>(found);
}
template <class T>
void coo_decode_cpu(const Call& call) {
  const std::int64_t count = call["count"], places = call["nonzeros"];
  T* y = call.at<T>(2);
  std::fill(y, y + count, T(0.0F));
  for (std::int64_t k = 0; k < places; ++k) {
    const std::int64_t i = call.at<std::uint32_t>(0)[k];
    if (i < count) y[i] = call.at<T>(1)[k];
  }
}

std::vector<Shape> test_shapes() {
  return {{{"count", 1}, {"nonzeros", 1}},
          {{"count", 35}, {"nonzeros", 0}},
          {{"count", 4103}, {"nonzeros", 4103}},
          {{"count", 9001}, {"nonzeros", 700}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"count", 1 << 20}, {"nonzeros", 10486}},
          {{"count", 1 << 24}, {"nonzeros", 167772}},
          {{"count", 1 << 24}, {"nonzeros", 1677722}},
          {{"count", 1 << 26}, {"nonzeros", 671089}}};
}

}  // namespace

std::vector<Operation> pack_sparse_operations() {
  return {
      {"pack-bitvector", "encode", "a bit per element, counts per tile, nonzero values", kFloats,
       bitvector_encode_tensors, bitvector_work, test_shapes, bench_shapes,
       bitvector_encode_reference, [](const Call& c) { PACELINE_BY_TYPE(c, bitvector_encode_cpu); },
       PACELINE_ON_DEVICE(pack_bitvector_encode)},
      {"pack-bitvector", "decode", "the array of a bitvector and its values", kFloats,
       bitvector_decode_tensors, bitvector_work, test_shapes, bench_shapes,
       bitvector_decode_reference, [](const Call& c) { PACELINE_BY_TYPE(c, bitvector_decode_cpu); },
       PACELINE_ON_DEVICE(pack_bitvector_decode)},
      {"pack-coo", "encode", "indices and values of the nonzeros", kFloats, coo_encode_tensors,
       coo_work, test_shapes, bench_shapes, coo_encode_reference,
       [](const Call& c) { PACELINE_BY_TYPE(c, coo_encode_cpu); },
       PACELINE_ON_DEVICE(pack_coo_encode)},
      {"pack-coo", "decode", "the array of indices and values", kFloats, coo_decode_tensors,
       coo_work, test_shapes, bench_shapes, coo_decode_reference,
       [](const Call& c) { PACELINE_BY_TYPE(c, coo_decode_cpu); },
       PACELINE_ON_DEVICE(pack_coo_decode)}};
}

}  // namespace paceline::kernels
