// SPDX-License-Identifier: Apache-2.0
#include "models/context/mask.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace paceline::models {
namespace {

/// Twice the area of {y < x, x < to, y >= from}: a triangle.
std::int64_t triangle(std::int64_t to, std::int64_t from) {
  const std::int64_t side = std::max<std::int64_t>(0, to - from);
  return side * side;
}

/// Twice the area of {a <= x < b, c <= y < min(d, x)}, by inclusion and exclusion of triangles.
std::int64_t below_diagonal(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return triangle(b, c) - triangle(a, c) - triangle(b, d) + triangle(a, d);
}

/// Sum over i < n of clamp(2 i + first, 0, 2 m).
std::int64_t clamped_sum(std::int64_t n, std::int64_t first, std::int64_t m) {
  // i from `low` on is positive, from `high` on full.
  const std::int64_t low = std::clamp<std::int64_t>((1 - first) / 2, 0, n);
  const std::int64_t begin = first >= 1 ? 0 : low;
  const std::int64_t full = 2 * m - first;  // 2 i >= full
  const std::int64_t high = std::clamp<std::int64_t>(full <= 0 ? 0 : (full + 1) / 2, begin, n);
  const std::int64_t k = high - begin;
  return k * (first + begin + high - 1) + (n - high) * 2 * m;
}

/// Twice the number of pairs with keys before the query by more than `shift`; the square on the
/// boundary counts half.
std::int64_t strided_below(const Piece& q, const Piece& k, std::int64_t shift) {
  const std::int64_t distance = q.begin - shift - k.begin;
  const std::int64_t stride = q.stride;
  std::int64_t steps = distance / stride;
  const std::int64_t rest = distance % stride;
  if (rest < 0) --steps;  // floor
  return clamped_sum(q.count, 2 * steps + (rest == 0 ? 1 : 2), k.count);
}

/// Tokens of a piece that are `rest` modulo n.
std::int64_t members(const Piece& piece, std::int64_t rest, std::int64_t n) {
  if (piece.stride == 1) {
    const auto up_to = [&](std::int64_t end) { return (end - rest + n - 1) / n; };
    return up_to(piece.begin + piece.count) - up_to(piece.begin);
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < std::min(piece.count, n); ++i) {
    if ((piece.begin + i * piece.stride) % n == rest) sum += (piece.count - 1 - i) / n + 1;
  }
  return sum;
}

std::int64_t twice_square(const Piece& q, const Piece& k, std::int64_t subsequences) {
  if (subsequences == 1) return 2 * q.count * k.count;
  std::int64_t sum = 0;
  for (std::int64_t rest = 0; rest < subsequences; ++rest)
    sum += members(q, rest, subsequences) * members(k, rest, subsequences);
  return 2 * sum;
}

}  // namespace

std::int64_t twice_area(const Piece& q, const Piece& k, const Mask& mask) {
  if (q.document != k.document || q.count == 0 || k.count == 0) return 0;
  if (!mask.causal) return twice_square(q, k, mask.subsequences);
  if (q.stride != 1 || k.stride != 1) {
    PACELINE_CHECK(q.stride == k.stride);
    const std::int64_t all = strided_below(q, k, 0);
    return mask.window > 0 ? all - strided_below(q, k, mask.window) : all;
  }
  const std::int64_t a = q.begin, b = q.begin + q.count;
  const std::int64_t c = k.begin, d = k.begin + k.count;
  const std::int64_t all = below_diagonal(a, b, c, d);
  if (mask.window <= 0) return all;
  return all - below_diagonal(a - mask.window, b - mask.window, c, d);
}

std::int64_t twice_area(const Piece& q, const Mask& mask, std::int64_t document) {
  if (!mask.causal) return twice_square(q, {q.document, 0, document, 1}, mask.subsequences);
  // Query x keeps x + 1/2 keys, less those more than the window behind.
  const auto before = [&](std::int64_t shift) {
    const std::int64_t skipped =
        std::clamp<std::int64_t>((shift - q.begin + q.stride - 1) / q.stride, 0, q.count);
    const std::int64_t n = q.count - skipped;
    const std::int64_t first = q.begin + skipped * q.stride - shift;
    return n * (2 * first + 1) + q.stride * n * (n - 1);
  };
  const std::int64_t all = before(0);
  return mask.window > 0 ? all - before(mask.window) : all;
}

std::int64_t twice_area(std::int64_t tokens, const Mask& mask) {
  return twice_area(Piece{0, 0, tokens, 1}, mask, tokens);
}

}  // namespace paceline::models
