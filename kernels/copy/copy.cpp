// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy/copy.hpp"

#include <cstring>

#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

std::vector<TensorSpec> tensors(const Case& c, bool from_host, bool to_host) {
  const std::int64_t bytes = c.shape["bytes"];
  const bool words = bytes % 4 == 0;  // a quarter of the elements to fill and compare
  const DType type = words ? DType::U32 : DType::U8;
  const std::int64_t count = words ? bytes / 4 : bytes;
  return {{"from", Use::In, type, count, Fill::Whole, words ? 0x1p32 : 0x1p8, 0, from_host},
          {"to", Use::Out, type, count, {}, 0, 0, to_host}};
}
std::vector<TensorSpec> h2d(const Case& c) { return tensors(c, true, false); }
std::vector<TensorSpec> d2h(const Case& c) { return tensors(c, false, true); }
std::vector<TensorSpec> d2d(const Case& c) { return tensors(c, false, false); }

Work work(const Case& c) { return {0, moved_bytes(d2d(c))}; }
/// Of the device's memory: one side of a copy that crosses the bus.
Work bus_work(const Case& c) { return {0, static_cast<double>(c.shape["bytes"])}; }

void reference(const Case&, Values& v) { v[1] = v[0]; }
void cpu(const Call& call) {
  std::memcpy(call.at<void>(1), call.at<void>(0), static_cast<std::size_t>(call["bytes"]));
}

std::vector<Shape> test_shapes() { return {{{"bytes", 1}}, {{"bytes", 1003}}, {{"bytes", 4096}}}; }
/// From where latency rules to where bandwidth does.
std::vector<Shape> bench_shapes() {
  std::vector<Shape> result;
  for (int log2 = 12; log2 <= 28; log2 += 2) result.push_back({{"bytes", std::int64_t{1} << log2}});
  return result;
}

using Tensors = std::vector<TensorSpec> (*)(const Case&);
Operation copy(const char* kernel, const char* summary, Tensors arguments,
               Work (*moved)(const Case&)) {
  return {kernel,
          "forward",
          summary,
          {DType::U8},
          arguments,
          moved,
          test_shapes,
          bench_shapes,
          reference,
          cpu,
          PACELINE_ON_DEVICE(copy_forward)};
}

}  // namespace

std::vector<Operation> copy_operations() {
  return {copy("copy-h2d", "from page-locked host memory to the device", h2d, bus_work),
          copy("copy-d2h", "from the device to page-locked host memory", d2h, bus_work),
          copy("copy-d2d", "within the device's memory", d2d, work)};
}

}  // namespace paceline::kernels
