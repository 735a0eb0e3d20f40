// SPDX-License-Identifier: Apache-2.0
#include "kernels/low_rank/low_rank.hpp"

#include "kernels/codec/tables.hpp"
#include "kernels/codec/thin.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;  // sums of a few thousand floats

struct Sizes {
  std::int64_t rows, columns, rank;
  explicit Sizes(const Case& c)
      : rows(c.shape["rows"]), columns(c.shape["columns"]), rank(c.shape["rank"]) {
    PACELINE_CHECK(rank <= numeric::kMaxRank);
  }
};

TensorSpec matrix(const Case& c, const Sizes& s) {
  return {"matrix", Use::In, c.type, s.rows * s.columns};
}

std::vector<TensorSpec> project_tensors(const Case& c) {
  const Sizes s(c);
  return {matrix(c, s),
          {"q", Use::In, DType::F32, s.columns * s.rank},
          {"p", Use::Out, DType::F32, s.rows * s.rank, {}, 0, kTolerance}};
}
std::vector<TensorSpec> back_project_tensors(const Case& c) {
  const Sizes s(c);
  return {matrix(c, s),
          {"p", Use::In, DType::F32, s.rows * s.rank},
          {"q", Use::Out, DType::F32, s.columns * s.rank, {}, 0, kTolerance}};
}
std::vector<TensorSpec> decode_tensors(const Case& c) {
  const Sizes s(c);
  return {{"p", Use::In, DType::F32, s.rows * s.rank},
          {"q", Use::In, DType::F32, s.columns * s.rank},
          {"y", Use::Out, c.type, s.rows * s.columns, {}, 0, kTolerance},
          {"scratch", Use::Scratch, DType::F32, s.columns * s.rank}};
}
std::vector<TensorSpec> orthogonalise_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], rank = c.shape["rank"];
  PACELINE_CHECK(rank <= numeric::kMaxRank);
  return {{"p", Use::InOut, DType::F32, rows * rank, Fill::Normal, 1, 10 * kTolerance},
          {"scratch", Use::Scratch, DType::U32, orthogonalise_words(rows, rank)}};
}

Work product_work(const Case& c) {
  const Sizes s(c);
  const double elements = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  return {2 * elements * static_cast<double>(s.rank),
          elements * static_cast<double>(bytes_of(c.type)) +
              static_cast<double>(numeric::low_rank_bytes(s.rows, s.columns, s.rank))};
}
Work orthogonalise_work(const Case& c) {
  const auto rows = static_cast<double>(c.shape["rows"]);
  const auto rank = static_cast<double>(c.shape["rank"]);
  return {4 * rows * rank * rank, 8 * rows * rank};  // P^T P and P R^-1 of one round, halves
}

auto at(const std::vector<double>& m, std::int64_t columns) {
  return [&m, n = static_cast<std::size_t>(columns)](std::size_t i, std::size_t j) {
    return m[i * n + j];
  };
}
auto transposed_at(const std::vector<double>& m, std::int64_t columns) {
  return [&m, n = static_cast<std::size_t>(columns)](std::size_t i, std::size_t j) {
    return m[j * n + i];
  };
}

void project_reference(const Case& c, Values& v) {
  const Sizes s(c);
  v[2] =
      product_reference(static_cast<std::size_t>(s.rows), static_cast<std::size_t>(s.rank),
                        static_cast<std::size_t>(s.columns), at(v[0], s.columns), at(v[1], s.rank));
}
void back_project_reference(const Case& c, Values& v) {
  const Sizes s(c);
  v[2] = product_reference(static_cast<std::size_t>(s.columns), static_cast<std::size_t>(s.rank),
                           static_cast<std::size_t>(s.rows), transposed_at(v[0], s.columns),
                           at(v[1], s.rank));
}
void decode_reference(const Case& c, Values& v) {
  const Sizes s(c);
  v[2] = product_reference(static_cast<std::size_t>(s.rows), static_cast<std::size_t>(s.columns),
                           static_cast<std::size_t>(s.rank), at(v[0], s.rank),
                           transposed_at(v[1], s.rank));
}

/// Modified Gram-Schmidt, twice; dependent columns become zero.
void orthogonalise_reference(const Case& c, Values& v) {
  const auto rows = static_cast<std::size_t>(c.shape["rows"]),
             rank = static_cast<std::size_t>(c.shape["rank"]);
  auto& p = v[0];
  const auto dot = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += p[i * rank + a] * p[i * rank + b];
    return sum;
  };
  for (std::size_t j = 0; j < rank; ++j) {
    const double whole = dot(j, j);
    for (std::size_t k = 0; k < 2 * j; ++k) {
      const double part = dot(k % j, j);
      for (std::size_t i = 0; i < rows; ++i) p[i * rank + j] -= part * p[i * rank + k % j];
    }
    const double inverse = numeric::pivot_inverse(dot(j, j), whole);
    for (std::size_t i = 0; i < rows; ++i) p[i * rank + j] *= inverse;
  }
}

template <class T>
void project_cpu(const Call& call) {
  times_thin(call.at<T>(0), call.at<float>(1), call.at<float>(2), call["rows"], call["columns"],
             call["rank"]);
}
template <class T>
void back_project_cpu(const Call& call) {
  const Sizes s(call.c);
  float* q = call.at<float>(2);
  for (std::int64_t i = 0; i < s.columns * s.rank; ++i) q[i] = 0;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t j = 0; j < s.columns; ++j)
      add_multiple(static_cast<float>(call.at<T>(0)[row * s.columns + j]),
                   call.at<float>(1) + row * s.rank, q + j * s.rank, s.rank);
  }
}
template <class T>
void decode_cpu(const Call& call) {
  constexpr std::int64_t kPart = 512;  // of a row: its sums and Q^T stay in the cache
  const Sizes s(call.c);
  const float* p = call.at<float>(0);
  float* transposed = call.at<float>(3);
  transpose(call.at<float>(1), transposed, s.columns, s.rank);
  for (std::int64_t first = 0; first < s.columns; first += kPart) {
    const std::int64_t size = std::min(kPart, s.columns - first);
    for (std::int64_t row = 0; row < s.rows; ++row) {
      float sums[kPart] = {};
      for (std::int64_t k = 0; k < s.rank; ++k)
        add_multiple(p[row * s.rank + k], transposed + k * s.columns + first, sums, size);
      T* y = call.at<T>(2) + row * s.columns + first;
      for (std::int64_t j = 0; j < size; ++j) y[j] = T(sums[j]);
    }
  }
}

/// R^-1 of the Cholesky factor R of a symmetric matrix whose upper triangle is given, in float;
/// zeros below the diagonal.
void inverse_factor(std::vector<double>& gram, std::int64_t rank, std::vector<float>& inverse) {
  const auto g = [&](std::int64_t i, std::int64_t j) -> double& {
    return gram[static_cast<std::size_t>(i * rank + j)];
  };
  std::vector<double> whole, column(static_cast<std::size_t>(rank)), pivots;
  for (std::int64_t j = 0; j < rank; ++j) whole.push_back(g(j, j));
  for (std::int64_t j = 0; j < rank; ++j) {
    pivots.push_back(numeric::pivot_inverse(g(j, j), whole[static_cast<std::size_t>(j)]));
    for (std::int64_t k = j; k < rank; ++k) g(j, k) *= pivots.back();
    for (std::int64_t i = j + 1; i < rank; ++i) {
      for (std::int64_t k = i; k < rank; ++k) g(i, k) -= g(j, i) * g(j, k);
    }
  }
  inverse.assign(static_cast<std::size_t>(rank * rank), 0);
  for (std::int64_t j = 0; j < rank; ++j) {
    for (std::int64_t i = j; i >= 0; --i) {
      double sum = i == j ? -1 : 0;
      for (std::int64_t k = i + 1; k <= j; ++k)
        sum += g(i, k) * column[static_cast<std::size_t>(k)];
      column[static_cast<std::size_t>(i)] = -sum * pivots[static_cast<std::size_t>(i)];
      inverse[static_cast<std::size_t>(i * rank + j)] =
          static_cast<float>(column[static_cast<std::size_t>(i)]);
    }
  }
}

void orthogonalise_cpu(const Call& call) {
  const std::int64_t rows = call["rows"], rank = call["rank"];
  float* p = call.at<float>(0);
  std::vector<float> inverse, row(static_cast<std::size_t>(rank));
  for (int round = 0; round < 2; ++round) {
    std::vector<double> gram(static_cast<std::size_t>(rank * rank));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t a = 0; a < rank; ++a) {
        const double left = double{p[i * rank + a]};
        double* sums = gram.data() + a * rank;
        for (std::int64_t b = a; b < rank; ++b) sums[b] += left * double{p[i * rank + b]};
      }
    }
    inverse_factor(gram, rank, inverse);
    for (std::int64_t i = 0; i < rows; ++i) {
      times_thin(p + i * rank, inverse.data(), row.data(), 1, rank, rank);
      std::copy(row.begin(), row.end(), p + i * rank);
    }
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"columns", 1}, {"rank", 1}},
          {{"rows", 7}, {"columns", 70}, {"rank", 3}},
          {{"rows", 70}, {"columns", 41}, {"rank", 33}}};
}
std::vector<Shape> bench_shapes() {
  std::vector<Shape> shapes;
  for (const std::int64_t rank : {4, 32}) {
    for (const std::int64_t size : {1024, 4096})
      shapes.push_back({{"rows", size}, {"columns", size}, {"rank", rank}});
  }
  return shapes;
}
std::vector<Shape> orthogonalise_test_shapes() {
  return {{{"rows", 1}, {"rank", 1}}, {{"rows", 40}, {"rank", 7}}, {{"rows", 301}, {"rank", 66}}};
}
std::vector<Shape> orthogonalise_bench_shapes() {
  return {{{"rows", 4096}, {"rank", 4}},
          {{"rows", 4096}, {"rank", 32}},
          {{"rows", 16384}, {"rank", 32}}};
}

}  // namespace

std::vector<Operation> low_rank_operations() {
  return {{"low-rank", "project", "P = M Q", kFloats, project_tensors, product_work, test_shapes,
           bench_shapes, project_reference, [](const Call& c) { PACELINE_BY_TYPE(c, project_cpu); },
           PACELINE_ON_DEVICE(low_rank_project)},
          {"orthogonalise", "step", "P with orthonormal columns", kFloat, orthogonalise_tensors,
           orthogonalise_work, orthogonalise_test_shapes, orthogonalise_bench_shapes,
           orthogonalise_reference, orthogonalise_cpu, PACELINE_ON_DEVICE(low_rank_orthogonalise)},
          {"low-rank", "back-project", "Q = M^T P", kFloats, back_project_tensors, product_work,
           test_shapes, bench_shapes, back_project_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, back_project_cpu); },
           PACELINE_ON_DEVICE(low_rank_back_project)},
          {"low-rank", "decode", "P Q^T", kFloats, decode_tensors, product_work, test_shapes,
           bench_shapes, decode_reference, [](const Call& c) { PACELINE_BY_TYPE(c, decode_cpu); },
           PACELINE_ON_DEVICE(low_rank_decode)}};
}

}  // namespace paceline::kernels
