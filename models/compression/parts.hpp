// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "base/rng.hpp"
#include "models/compression/codec.hpp"

/// What several codecs are made of.
namespace paceline::models::codec_parts {

inline std::int64_t whole(double count) { return std::max<std::int64_t>(1, std::llround(count)); }

inline std::string type_of(const CodecTensor& t) { return t.element_bytes == 4 ? "f32" : "bf16"; }
inline std::string type_of(Precision values) { return std::string(to_text(values)); }

inline double value_bytes(const CodecSettings& s) { return element_bytes(s.values); }
inline std::int64_t kept(const CodecSettings& s, double count) { return whole(s.keep * count); }

/// A kernel that is bound by memory.
inline CodecKernel stream(std::string_view kernel, std::string_view pass, std::string type,
                          base::Extents extents, double bytes) {
  CodecKernel k;
  k.kernel = kernel;
  k.pass = pass;
  k.type = std::move(type);
  k.extents = std::move(extents);
  k.bytes = bytes;
  return k;
}

/// C[m,n] = A[m,k] B[k,n], by the kernel named where the profile has it.
inline CodecKernel product(std::string_view kernel, std::string_view pass, base::Extents extents,
                           double m, double n, double k, double times = 1) {
  CodecKernel c;
  c.kernel = kernel;
  c.pass = pass;
  c.type = "bf16";
  c.extents = std::move(extents);
  c.m = m;
  c.n = n;
  c.k = k;
  c.times = times;
  return c;
}

inline base::Extents thin(const CodecTensor& t, std::int64_t rank) {
  return {{"rows", whole(t.rows)}, {"columns", whole(t.columns)}, {"rank", rank}};
}

/// A factor has no more columns than the matrix has rows or columns.
inline double rank_of(const CodecSettings& s, const CodecTensor& t) {
  return std::min({static_cast<double>(s.rank), t.rows, t.columns});
}

/// values += residual, as error feedback starts a step.
void add_residual(std::span<float> values, CodecState& state);

/// What is left of x in the type it is sent in.
float as_sent(Precision values, float x);

/// Sends the elements chosen by `sent`; the others, and what rounding takes away, become the
/// residual.
template <class Sent>
void keep_if(const CodecSettings& s, std::span<float> values, CodecState& state, const Sent& sent) {
  state.residual.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float decoded = sent(i) ? as_sent(s.values, values[i]) : 0.0F;
    state.residual[i] = values[i] - decoded;
    values[i] = decoded;
  }
}

/// The magnitude rank of the `kept` largest elements: those with `at_least` and above are sent,
/// where equal the first ones.
std::vector<std::size_t> largest(std::span<const float> values, std::int64_t kept);

/// `columns` x `rank` with orthonormal columns, random, row by row.
std::vector<float> random_basis(std::size_t columns, std::size_t rank, std::uint64_t seed);
/// Makes the columns of a matrix orthonormal, one after another (modified Gram-Schmidt, twice);
/// what depends on earlier columns becomes zero.
void orthonormalise(std::span<float> basis, std::size_t rows, std::size_t rank);

/// values <- values A A^T, with A the basis of columns x rank and the coordinates sent as `type`.
void project(const CodecMatrix& m, std::span<const float> basis, std::size_t rank, Precision type);

/// C = A B of rows x inner and inner x columns, with sums in double; row by row.
std::vector<float> multiply(std::span<const float> a, std::span<const float> b, std::size_t rows,
                            std::size_t inner, std::size_t columns);
std::vector<float> transposed(std::span<const float> a, std::size_t rows, std::size_t columns);

}  // namespace paceline::models::codec_parts
