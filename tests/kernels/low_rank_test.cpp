// SPDX-License-Identifier: Apache-2.0
// PowerSGD, whitening and vector quantisation: the identities that the algebra promises.
#include "base/numeric/low_rank.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/numeric/bit_packing.hpp"
#include "base/numeric/whitening.hpp"
#include "tests/kernels/codecs.hpp"

namespace paceline::kernels::low_rank_codes_test {

namespace {

using Vector = std::vector<double>;

Case low_rank(std::int64_t rows, std::int64_t columns, std::int64_t rank) {
  return {DType::F32, {{"rows", rows}, {"columns", columns}, {"rank", rank}}};
}
Vector orthogonalised(const Vector& p, std::int64_t rank, const Backend& backend = cpu_backend()) {
  const auto rows = static_cast<std::int64_t>(p.size()) / rank;
  return run_codec("orthogonalise", "step", low_rank(rows, 1, rank), {p}, backend)[0];
}
/// a (rows x depth) times b (depth x columns).
Vector product(const Vector& a, const Vector& b, std::size_t depth) {
  const std::size_t rows = a.size() / depth, columns = b.size() / depth;
  Vector c(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t j = 0; j < columns; ++j)
        c[i * columns + j] += a[i * depth + k] * b[k * columns + j];
    }
  }
  return c;
}
Vector transposed(const Vector& a, std::size_t columns) {
  Vector result;
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < a.size() / columns; ++i) result.push_back(a[i * columns + j]);
  }
  return result;
}
/// Largest element of |P^T P - I|.
double distance_to_orthonormal(const Vector& p, std::size_t rank) {
  const Vector gram = product(transposed(p, rank), p, p.size() / rank);
  double worst = 0;
  for (std::size_t i = 0; i < rank * rank; ++i)
    worst = std::max(worst, std::abs(gram[i] - (i % (rank + 1) == 0 ? 1 : 0)));
  return worst;
}

/// Random orthonormal columns.
Vector basis_of(std::size_t rows, std::size_t rank, std::uint64_t seed) {
  return orthogonalised(normal_floats(rows * rank, seed), static_cast<std::int64_t>(rank));
}
/// U diag(d) U^T.
Vector symmetric(const Vector& u, const Vector& d) {
  Vector scaled = u;
  for (std::size_t i = 0; i < u.size(); ++i) scaled[i] *= d[i % d.size()];
  return product(scaled, transposed(u, d.size()), d.size());
}

/// Power iterations of PowerSGD from a random Q; gives P Q^T.
Vector power_sgd(const Vector& m, std::int64_t rows, std::int64_t columns, std::int64_t rank,
                 int iterations) {
  const Case c = low_rank(rows, columns, rank);
  Vector q = normal_floats(static_cast<std::size_t>(columns * rank), 77), p;
  for (int i = 0; i < iterations; ++i) {
    p = orthogonalised(run_codec("low-rank", "project", c, {m, q})[2], rank);
    q = run_codec("low-rank", "back-project", c, {m, p})[2];
  }
  return run_codec("low-rank", "decode", c, {p, q})[2];
}

}  // namespace

TEST_CASE("orthogonalised columns are orthonormal to rounding", "[kernels]") {
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    for (const std::size_t rank : {std::size_t{1}, std::size_t{5}, std::size_t{32}}) {
      const Vector p = normal_floats(200 * rank, 3, 1e-4);
      CHECK(distance_to_orthonormal(orthogonalised(p, static_cast<std::int64_t>(rank), *backend),
                                    rank) < 1e-6);
    }
    // Columns that are nearly the same: one round in fp32 alone would not do.
    Vector p = normal_floats(200 * 6, 4);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = (i % 6 == 0 ? 1 : 1e-3) * p[i] + p[i / 6 * 6];
    CHECK(distance_to_orthonormal(orthogonalised(p, 6, *backend), 6) < 1e-6);
  }
}

TEST_CASE("columns that depend on those before become zero, the others stay", "[kernels]") {
  Vector p = normal_floats(60 * 4, 5);
  for (std::size_t i = 0; i < 60; ++i) {
    p[i * 4 + 1] = -2 * p[i * 4];
    p[i * 4 + 2] = i == 0 ? 0 : p[i * 4 + 2];
  }
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Vector result = orthogonalised(p, 4, *backend);
    Vector rest;
    for (std::size_t i = 0; i < 60; ++i) {
      CHECK(result[i * 4 + 1] == 0);
      rest.insert(rest.end(), {result[i * 4], result[i * 4 + 2], result[i * 4 + 3]});
    }
    CHECK(distance_to_orthonormal(rest, 3) < 1e-6);
    CHECK(orthogonalised(Vector(12, 0.0), 3, *backend) == Vector(12, 0.0));
    // More columns than rows: the rest depends on the first.
    const Vector wide = orthogonalised({3, 1, 4, 1, 5, 9}, 3, *backend);
    CHECK(wide[2] == 0);
    CHECK(wide[5] == 0);
  }
}

TEST_CASE("a matrix of low rank comes back, others lose no more with more rank", "[kernels]") {
  const Vector exact = product(normal_floats(30 * 3, 6), normal_floats(3 * 40, 7), 3);
  CHECK(relative_error(exact, power_sgd(exact, 30, 40, 3, 1)) < 1e-5);
  CHECK(relative_error(exact, power_sgd(exact, 30, 40, 5, 1)) < 1e-5);

  const Vector any = normal_floats(30 * 40, 8);
  double last = 1;
  for (const std::int64_t rank : {1, 2, 4, 8, 16, 30}) {
    const double error = relative_error(any, power_sgd(any, 30, 40, rank, 20));
    CHECK(error < last);
    last = error;
  }
  CHECK(last < 1e-5);
  // One iteration from a random start is a projection: never longer than the matrix.
  CHECK(relative_error(any, power_sgd(any, 30, 40, 4, 1)) < 1);
  CHECK(relative_error(any, power_sgd(any, 30, 40, 4, 2)) <
        relative_error(any, power_sgd(any, 30, 40, 4, 1)));
}

TEST_CASE("low-rank factors have exactly the bytes that are said", "[kernels]") {
  const Case c = low_rank(100, 70, 4);
  CHECK(output_bytes(operation_named("low-rank", "project"), c, {"p"}) +
            output_bytes(operation_named("low-rank", "back-project"), c, {"q"}) ==
        numeric::low_rank_bytes(100, 70, 4));
  CHECK(numeric::low_rank_bytes(100, 70, 4) == 4 * 170 * 4);
}

TEST_CASE("whitening and back is the gradient again", "[kernels]") {
  const std::int64_t columns = 96, rank = 12;
  const Vector g = normal_floats(40 * 96, 9), u = basis_of(96, 12, 10);
  Vector eigenvalues;
  for (int i = 0; i < 12; ++i) eigenvalues.push_back(100.0 / (1 + i));
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    const Case c = low_rank(40, columns, rank);
    const Vector white = run_codec("whiten", "encode", c, {g, u, eigenvalues, {0.25}}, *backend)[4];
    const Vector back =
        run_codec("whiten", "decode", c, {white, u, eigenvalues, {0.25}}, *backend)[4];
    CHECK(relative_error(g, back) < 1e-5);
    CHECK(relative_error(g, white) > 0.5);
  }
  // Along an eigenvector by 1 / sqrt(l), across all of them by 1 / sqrt(tail).
  const Vector along = run_codec("whiten", "encode", low_rank(12, columns, rank),
                                 {transposed(u, 12), u, eigenvalues, {0.25}})[4];
  for (std::size_t i = 0; i < along.size(); ++i)
    REQUIRE(along[i] == Approx(transposed(u, 12)[i] / std::sqrt(eigenvalues[i / 96])).margin(2e-6));
}

TEST_CASE("orthogonal iteration on the running covariance finds its largest eigenvalues",
          "[kernels]") {
  const std::size_t n = 32, tokens = 400, rank = 4;
  const Vector v = basis_of(n, n, 11);
  Vector spectrum;
  for (std::size_t i = 0; i < n; ++i)
    spectrum.push_back(i < rank ? 20.0 - 4.0 * static_cast<double>(i) : 0.5);
  Vector roots;
  for (const double l : spectrum) roots.push_back(std::sqrt(l));
  const Vector x = product(normal_floats(tokens * n, 12), symmetric(v, roots), n);
  const Case few{DType::F32, {{"tokens", 400}, {"columns", 32}}};
  Vector a(n * n, 0.0);
  for (int batch = 0; batch < 3; ++batch)
    a = run_codec("whiten-statistics", "step", few, {x, {batch == 0 ? 0.0 : 0.9}, a})[2];
  // The same batch again changes nothing.
  const Vector gram = product(transposed(x, n), x, tokens);
  for (std::size_t i = 0; i < a.size(); ++i)
    REQUIRE(a[i] == Approx(gram[i] / static_cast<double>(tokens)).margin(1e-4));

  Vector u = normal_floats(n * rank, 13);
  for (int i = 0; i < 60; ++i)
    u = orthogonalised(run_codec("low-rank", "project", low_rank(32, 32, 4), {a, u})[2], 4);
  const Values found =
      run_codec("whiten-eigenvalues", "step", {DType::F32, {{"columns", 32}, {"rank", 4}}}, {a, u});
  double known = 0, trace = 0;
  const Vector au = product(a, u, n);
  for (std::size_t k = 0; k < rank; ++k) {
    known += found[2][k];
    for (std::size_t i = 0; i < n; ++i)  // A u = l u
      REQUIRE(au[i * rank + k] == Approx(found[2][k] * u[i * rank + k]).margin(0.02));
  }
  for (std::size_t i = 0; i < n; ++i) trace += a[i * n + i];
  CHECK(std::is_sorted(found[2].rbegin(), found[2].rend()));
  CHECK(found[3][0] == Approx((trace - known) / 28).epsilon(1e-3));
  CHECK(found[3][0] == Approx(0.5).epsilon(0.2));
}

TEST_CASE("whitening shrinks FP8's error as far as the spectrum allows", "[kernels]") {
  // G = D A, so columns' covariance is A^2; rounding errors are of equal size in all directions of
  // what is rounded. Whitened by A^-1/2 the error is E A^1/2 with |E| ~ |D A^1/2|: its square is
  // tr(A)^2 / n against tr(A^2) without, a gain of sqrt(n / r), r = tr(A)^2 / tr(A^2).
  const std::size_t n = 128, rows = 96;
  const Vector v = basis_of(n, n, 14);
  Vector spectrum;
  double trace = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    spectrum.push_back(std::pow(static_cast<double>(i + 1), -0.75));
    trace += spectrum[i];
    squares += spectrum[i] * spectrum[i];
  }
  const Vector g = product(normal_floats(rows * n, 15), symmetric(v, spectrum), n);
  const Case bytes{DType::F32, {{"count", static_cast<std::int64_t>(rows * n)}, {"block", 0}}};
  const auto rounded = [&](const Vector& x) {
    const Values coded = run_codec("quantise-fp8-e4m3", "encode", bytes, {x});
    return run_codec("quantise-fp8-e4m3", "decode", bytes, {coded[1], coded[2]})[2];
  };
  const double plain = relative_error(g, rounded(g));
  double last = 1;
  for (const std::int64_t rank : {4, 16, 64, 128}) {
    const auto r = static_cast<std::size_t>(rank);
    Vector u, eigenvalues(spectrum.begin(), spectrum.begin() + rank);
    double known = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < r; ++k) u.push_back(v[i * n + k]);
    }
    for (const double l : eigenvalues) known += l;
    const double tail = static_cast<double>(numeric::whitening_tail(
        static_cast<float>(trace), static_cast<float>(known), 128, static_cast<float>(rank)));
    const Case c = low_rank(static_cast<std::int64_t>(rows), 128, rank);
    const Vector white = run_codec("whiten", "encode", c, {g, u, eigenvalues, {tail}})[4];
    const Vector back =
        run_codec("whiten", "decode", c, {rounded(white), u, eigenvalues, {tail}})[4];
    const double error = relative_error(g, back) / plain;
    CHECK(error < last * 1.02);
    last = error;
  }
  CHECK(1 / last == Approx(std::sqrt(n * squares) / trace).epsilon(0.06));
}

TEST_CASE("codewords are their own nearest, and more codewords err less", "[kernels]") {
  const Vector book = normal_floats(64 * 5, 16), x = normal_floats(500 * 5, 17);
  const auto shape = [](std::int64_t rows, std::int64_t codewords) {
    return Case{DType::F32, {{"rows", rows}, {"dim", 5}, {"codewords", codewords}}};
  };
  const auto through = [&](const Vector& rows, const Vector& words, const Backend& backend) {
    const Case c = shape(static_cast<std::int64_t>(rows.size()) / 5,
                         static_cast<std::int64_t>(words.size()) / 5);
    const Values coded = run_codec("vector-quantise", "encode", c, {rows, words}, backend);
    return run_codec("vector-quantise", "decode", c, {coded[2], words}, backend)[2];
  };
  for (const Backend* backend : {&cpu_backend(), &simt_backend()}) {
    CHECK(through(book, book, *backend) == book);
    double last = 10;
    for (const std::ptrdiff_t codewords : {1, 2, 7, 33, 64}) {
      const double error =
          relative_error(x, through(x, {book.begin(), book.begin() + 5 * codewords}, *backend));
      CHECK(error < last);
      last = error;
    }
  }
  for (const std::int64_t codewords : {1, 2, 3, 256, 257}) {
    const int bits = codewords <= 2 ? 1 : (codewords == 3 ? 2 : (codewords == 256 ? 8 : 9));
    CHECK(numeric::index_bits(codewords) == bits);
    CHECK(output_bytes(operation_named("vector-quantise", "encode"), shape(1000, codewords),
                       {"words"}) == (1000 * bits + 31) / 32 * 4);
  }
}

TEST_CASE("packed numbers of any width come back", "[kernels]") {
  base::Rng rng(18);
  for (int bits = 1; bits <= 32; ++bits) {
    std::vector<std::uint32_t> numbers(45);
    for (auto& number : numbers) number = static_cast<std::uint32_t>(rng.next() >> (64 - bits));
    std::vector<std::uint32_t> words;
    const auto count = static_cast<std::int64_t>(numbers.size());
    for (std::int64_t w = 0; w < numeric::packed_words(count, bits); ++w)
      words.push_back(numeric::packed_word(
          w, count, bits, [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; }));
    for (std::int64_t i = 0; i < count; ++i)
      REQUIRE(numeric::packed_number(words.data(), i, bits) ==
              numbers[static_cast<std::size_t>(i)]);
  }
}

}  // namespace paceline::kernels::low_rank_codes_test
