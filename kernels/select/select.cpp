// SPDX-License-Identifier: Apache-2.0
#include "kernels/select/select.hpp"

#include <numeric>

#include "kernels/codec/reference.hpp"
#include "kernels/codec/tables.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

std::vector<TensorSpec> top_k_tensors(const Case& c) {
  const std::int64_t count = c.shape["count"], kept = c.shape["kept"];
  return {{"gradient", Use::In, c.type, count},
          {"residual", Use::InOut, DType::F32, count},
          {"indices", Use::Out, DType::U32, kept},
          {"values", Use::Out, c.type, kept},
          {"scratch", Use::Scratch, DType::U32, top_k_words(count)}};
}
std::vector<TensorSpec> threshold_tensors(const Case& c) {
  const std::int64_t count = c.shape["count"], capacity = c.shape["capacity"];
  return {{"gradient", Use::In, c.type, count},
          {"residual", Use::InOut, DType::F32, count},
          {"threshold", Use::In, DType::F32, 1, Fill::Constant, 2.5},
          {"indices", Use::Out, DType::U32, capacity},
          {"values", Use::Out, c.type, capacity},
          {"found", Use::Out, DType::U32, 1},
          {"scratch", Use::Scratch, DType::U32, scan_words(count)}};
}
Work work(const Case& c, const char* sent) {
  const auto n = static_cast<double>(c.shape["count"]);
  const auto wire =
      numeric::coordinate_bytes(c.shape[sent], static_cast<std::int64_t>(bytes_of(c.type)));
  return {2 * n, stored_bytes(c) + 8 * n + static_cast<double>(wire)};
}
Work top_k_work(const Case& c) { return work(c, "kept"); }
Work threshold_work(const Case& c) { return work(c, "capacity"); }

/// Adds the gradient to the residual.
void accumulate_reference(Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) v[1][i] = to_float(v[0][i] + v[1][i]);
}
void send_reference(DType type, std::size_t i, std::size_t place, std::vector<double>& residual,
                    std::vector<double>& indices, std::vector<double>& values) {
  indices[place] = static_cast<double>(i);
  values[place] = stored(type, residual[i]);
  residual[i] -= values[place];
}

void top_k_reference(const Case& c, Values& v) {
  accumulate_reference(v);
  std::vector<std::size_t> order(v[0].size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(v[1][a]) > std::abs(v[1][b]);
  });
  order.resize(v[2].size());
  std::sort(order.begin(), order.end());
  for (std::size_t place = 0; place < order.size(); ++place)
    send_reference(c.type, order[place], place, v[1], v[2], v[3]);
}
void threshold_reference(const Case& c, Values& v) {
  accumulate_reference(v);
  const std::size_t capacity = v[3].size();
  std::size_t found = 0;
  for (std::size_t i = 0; i < v[1].size(); ++i) {
    if (std::abs(v[1][i]) < v[2][0]) continue;
    if (found < capacity) send_reference(c.type, i, found, v[1], v[3], v[4]);
    ++found;
  }
  v[5][0] = static_cast<double>(found);
  for (; found < capacity; ++found) {
    v[3][found] = unwritten(DType::U32);
    v[4][found] = unwritten(c.type);
  }
}

/// The key that the `kept`-th largest has, and how many of that key are among the `kept`.
struct Limit {
  std::uint32_t key = 0;
  std::int64_t taken = 0;
};
/// One digit of the key, from a histogram of those that agree with the digits before.
void find_digit(const std::uint32_t* bins, int digit, Limit& limit) {
  std::uint32_t bin = numeric::rank_bins(digit) - 1;
  while (bin > 0 && bins[bin] < limit.taken) limit.taken -= bins[bin--];
  limit.key |= bin << numeric::rank_shift(digit);
}

template <class T>
void top_k_cpu(const Call& call) {
  const std::int64_t count = call["count"], kept = call["kept"];
  PACELINE_CHECK(kept <= count && count < std::int64_t{1} << 31);
  const T* gradient = call.at<T>(0);
  float* residual = call.at<float>(1);
  for (std::int64_t i = 0; i < count; ++i) residual[i] += static_cast<float>(gradient[i]);
  Limit limit{0, kept};
  for (int digit = 0; digit < numeric::kRankDigits; ++digit) {
    std::uint32_t bins[2048] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t key = numeric::rank_key(residual[i]);
      if (numeric::has_prefix(key, limit.key, digit)) ++bins[numeric::rank_digit(key, digit)];
    }
    find_digit(bins, digit, limit);
  }
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < count && place < kept; ++i) {
    const std::uint32_t key = numeric::rank_key(residual[i]);
    if (key < limit.key || (key == limit.key && limit.taken-- <= 0)) continue;
    const T value = numeric::sent_value<T>(residual[i]);
    call.at<std::uint32_t>(2)[place] = static_cast<std::uint32_t>(i);
    call.at<T>(3)[place++] = value;
    residual[i] -= static_cast<float>(value);
  }
}

template <class T>
void threshold_cpu(const Call& call) {
  const std::int64_t count = call["count"], capacity = call["capacity"];
  const T* gradient = call.at<T>(0);
  float* residual = call.at<float>(1);
  const std::uint32_t limit = numeric::magnitude_of(call.at<float>(2)[0]);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = static_cast<float>(gradient[i]) + residual[i];
    residual[i] = a;
    if (numeric::rank_key(a) < limit) continue;
    if (found < capacity) {
      const T value = numeric::sent_value<T>(a);
      call.at<std::uint32_t>(3)[found] = static_cast<std::uint32_t>(i);
      call.at<T>(4)[found] = value;
      residual[i] = a - static_cast<float>(value);
    }
    ++found;
  }
  call.at<std::uint32_t>(5)[0] = static_cast<std::uint32_t>(found);
}

std::vector<Shape> top_k_test_shapes() {
  return {{{"count", 1}, {"kept", 1}},
          {{"count", 35}, {"kept", 0}},
          {{"count", 35}, {"kept", 35}},
          {{"count", 9000}, {"kept", 91}},
          {{"count", 4097}, {"kept", 4000}}};
}
std::vector<Shape> top_k_bench_shapes() {
  return {{{"count", 1 << 20}, {"kept", 10486}},
          {{"count", 1 << 24}, {"kept", 167772}},
          {{"count", 1 << 26}, {"kept", 671089}}};
}
// A sum of two normal numbers is beyond the threshold one time in 13.
std::vector<Shape> threshold_test_shapes() {
  return {{{"count", 1}, {"capacity", 1}},
          {{"count", 35}, {"capacity", 35}},
          {{"count", 9000}, {"capacity", 1000}},
          {{"count", 8200}, {"capacity", 500}}};
}
std::vector<Shape> threshold_bench_shapes() {
  return {{{"count", 1 << 20}, {"capacity", 1 << 17}},
          {{"count", 1 << 24}, {"capacity", 1 << 21}},
          {{"count", 1 << 26}, {"capacity", 1 << 23}}};
}

}  // namespace

std::vector<Operation> select_operations() {
  return {
      {"select-top-k", "encode", "the largest magnitudes, the rest stays in the residual", kFloats,
       top_k_tensors, top_k_work, top_k_test_shapes, top_k_bench_shapes, top_k_reference,
       [](const Call& c) { PACELINE_BY_TYPE(c, top_k_cpu); }, PACELINE_ON_DEVICE(select_top_k)},
      {"select-threshold", "encode", "magnitudes from a threshold on, the rest stays", kFloats,
       threshold_tensors, threshold_work, threshold_test_shapes, threshold_bench_shapes,
       threshold_reference, [](const Call& c) { PACELINE_BY_TYPE(c, threshold_cpu); },
       PACELINE_ON_DEVICE(select_threshold)}};
}

}  // namespace paceline::kernels
