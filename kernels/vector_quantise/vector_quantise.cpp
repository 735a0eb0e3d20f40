// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_quantise/vector_quantise.hpp"

#include <algorithm>
#include <limits>

#include "kernels/codec/reference.hpp"
#include "kernels/codec/tables.hpp"
#include "kernels/codec/thin.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

std::int64_t words_of(const Case& c) {
  return numeric::packed_words(c.shape["rows"], numeric::index_bits(c.shape["codewords"]));
}

// Small whole numbers: sums are exact in any order, and there are ties.
std::vector<TensorSpec> encode_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], dim = c.shape["dim"], codewords = c.shape["codewords"];
  return {{"x", Use::In, c.type, rows * dim, Fill::Whole, 8},
          {"codebook", Use::In, DType::F32, codewords * dim, Fill::Whole, 8},
          {"words", Use::Out, DType::U32, words_of(c)},
          {"indices", Use::Scratch, DType::U32, rows},
          {"scratch", Use::Scratch, DType::F32, codewords * (dim + 1)}};
}
std::vector<TensorSpec> decode_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], dim = c.shape["dim"], codewords = c.shape["codewords"];
  return {{"words", Use::In, DType::U32, words_of(c), Fill::Whole, 0x1p32},
          {"codebook", Use::In, DType::F32, codewords * dim},
          {"y", Use::Out, c.type, rows * dim}};
}
double row_bytes(const Case& c) {
  return static_cast<double>(c.shape["rows"]) * static_cast<double>(c.shape["dim"]) *
         static_cast<double>(bytes_of(c.type));
}
Work encode_work(const Case& c) {
  const double elements =
      static_cast<double>(c.shape["rows"]) * static_cast<double>(c.shape["dim"]);
  return {2 * elements * static_cast<double>(c.shape["codewords"]),
          row_bytes(c) + 4 * static_cast<double>(words_of(c))};
}
Work decode_work(const Case& c) { return {0, row_bytes(c) + 4 * static_cast<double>(words_of(c))}; }

void encode_reference(const Case& c, Values& v) {
  const auto dim = static_cast<std::size_t>(c.shape["dim"]),
             codewords = static_cast<std::size_t>(c.shape["codewords"]);
  const auto bits = static_cast<std::size_t>(numeric::index_bits(c.shape["codewords"]));
  for (std::size_t row = 0; row < v[0].size() / dim; ++row) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < codewords; ++k) {
      double distance = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        const double difference = v[0][row * dim + d] - v[1][k * dim + d];
        distance += difference * difference;
      }
      if (distance < least) best = k;
      least = std::min(least, distance);
    }
    for (std::size_t b = 0; b < bits; ++b) {
      const std::size_t bit = row * bits + b;
      if ((best >> b & 1U) != 0) v[2][bit / 32] += std::ldexp(1.0, static_cast<int>(bit % 32));
    }
  }
}
void decode_reference(const Case& c, Values& v) {
  const auto dim = static_cast<std::size_t>(c.shape["dim"]);
  const auto bits = static_cast<std::size_t>(numeric::index_bits(c.shape["codewords"]));
  for (std::size_t i = 0; i < v[2].size(); ++i) {
    std::int64_t k = 0;
    for (std::size_t b = 0; b < bits; ++b) {
      const std::size_t bit = i / dim * bits + b;
      if ((static_cast<std::uint32_t>(v[0][bit / 32]) >> bit % 32 & 1U) != 0)
        k |= std::int64_t{1} << b;
    }
    k = std::min(k, c.shape["codewords"] - 1);
    v[2][i] = stored(c.type, v[1][static_cast<std::size_t>(k) * dim + i % dim]);
  }
}

template <class T>
void encode_cpu(const Call& call) {
  constexpr std::int64_t kPart = 256;  // codewords compared at a time
  const std::int64_t rows = call["rows"], dim = call["dim"], codewords = call["codewords"];
  const float* codebook = call.at<float>(1);
  float *transposed = call.at<float>(4), *halves = transposed + codewords * dim;
  transpose(codebook, transposed, codewords, dim);
  std::fill(halves, halves + codewords, 0.0F);
  for (std::int64_t d = 0; d < dim; ++d) {
    const float* row = transposed + d * codewords;
    for (std::int64_t k = 0; k < codewords; ++k) halves[k] += row[k] * row[k] / 2;
  }
  std::uint32_t* indices = call.at<std::uint32_t>(3);
  for (std::int64_t row = 0; row < rows; ++row) {
    float least = std::numeric_limits<float>::infinity();
    indices[row] = 0;
    for (std::int64_t first = 0; first < codewords; first += kPart) {
      const std::int64_t size = std::min(kPart, codewords - first);
      float scores[kPart];
      std::copy(halves + first, halves + first + size, scores);
      for (std::int64_t d = 0; d < dim; ++d)
        add_multiple(-static_cast<float>(call.at<T>(0)[row * dim + d]),
                     transposed + d * codewords + first, scores, size);
      for (std::int64_t k = 0; k < size; ++k) {
        if (scores[k] < least) indices[row] = static_cast<std::uint32_t>(first + k);
        least = std::min(least, scores[k]);
      }
    }
  }
  const int bits = numeric::index_bits(codewords);
  for (std::int64_t w = 0; w < words_of(call.c); ++w)
    call.at<std::uint32_t>(2)[w] =
        numeric::packed_word(w, rows, bits, [&](std::int64_t i) { return indices[i]; });
}
template <class T>
void decode_cpu(const Call& call) {
  const std::int64_t rows = call["rows"], dim = call["dim"], codewords = call["codewords"];
  const int bits = numeric::index_bits(codewords);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t k = std::min<std::int64_t>(
        numeric::packed_number(call.at<std::uint32_t>(0), row, bits), codewords - 1);
    const float* from = call.at<float>(1) + k * dim;
    for (std::int64_t d = 0; d < dim; ++d) call.at<T>(2)[row * dim + d] = T(from[d]);
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"dim", 1}, {"codewords", 1}},
          {{"rows", 70}, {"dim", 3}, {"codewords", 5}},
          {{"rows", 33}, {"dim", 37}, {"codewords", 100}},
          {{"rows", 40}, {"dim", 4}, {"codewords", 300}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 1 << 16}, {"dim", 8}, {"codewords", 256}},
          {{"rows", 1 << 16}, {"dim", 16}, {"codewords", 1024}},
          {{"rows", 1 << 18}, {"dim", 16}, {"codewords", 1024}}};
}

}  // namespace

std::vector<Operation> vector_quantise_operations() {
  return {{"vector-quantise", "encode", "number of the nearest codeword", kFloats, encode_tensors,
           encode_work, test_shapes, bench_shapes, encode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, encode_cpu); },
           PACELINE_ON_DEVICE(vector_quantise_encode)},
          {"vector-quantise", "decode", "codewords of numbers", kFloats, decode_tensors,
           decode_work, test_shapes, bench_shapes, decode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, decode_cpu); },
           PACELINE_ON_DEVICE(vector_quantise_decode)}};
}

}  // namespace paceline::kernels
