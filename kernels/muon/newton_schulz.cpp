// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/muon/muon.hpp"

namespace paceline::kernels {
namespace {

static_assert(numeric::kNewtonSchulzSteps % 2 == 1);

/// result = alpha a b + beta addend, all in the case's type, rows packed.
Product product(DType type, Factor a, Factor b, std::int64_t m, std::int64_t n, std::int64_t k) {
  Product p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a;
  p.b = b;
  p.result_type = type;
  p.stride = n;
  return p;
}

}  // namespace

void newton_schulz(const Call& call, Multiply multiply, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  const std::int64_t side = std::min(rows, columns);
  const bool tall = rows > columns;
  const DType type = call.c.type;
  void *from = call.at<void>(kMuonOther), *to = call.at<void>(kMuonUpdate);
  for (int step = 0; step < numeric::kNewtonSchulzSteps; ++step) {
    const Factor x{from, type, columns}, x_transposed{from, type, columns, 0, true};
    Product gram = product(type, tall ? x_transposed : x, tall ? x : x_transposed, side, side,
                           std::max(rows, columns));
    gram.result = call.at<void>(kMuonGram);
    multiply(gram, stream);

    // A is symmetric: A A^T is the form with both factors' summed extent innermost.
    const Factor a{gram.result, type, side}, a_transposed{gram.result, type, side, 0, true};
    Product poly = product(type, a, a_transposed, side, side, side);
    poly.result = call.at<void>(kMuonPoly);
    poly.addend = gram.result;
    poly.alpha = numeric::kNewtonSchulzC;
    poly.beta = numeric::kNewtonSchulzB;
    multiply(poly, stream);

    const Factor b{poly.result, type, side};
    Product next = product(type, tall ? x : b, tall ? b : x, rows, columns, side);
    next.result = to;
    next.addend = from;
    next.beta = numeric::kNewtonSchulzA;
    multiply(next, stream);
    std::swap(from, to);
  }
}

}  // namespace paceline::kernels
