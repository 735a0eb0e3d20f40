// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise_nvfp4/quantise_nvfp4.hpp"

#include "kernels/codec/reference.hpp"
#include "kernels/codec/tables.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using numeric::kNvfp4Block;
using numeric::nvfp4_blocks;

std::int64_t code_bytes(const Case& c) { return (c.shape["count"] + 1) / 2; }

std::vector<TensorSpec> encode_tensors(const Case& c) {
  return {{"x", Use::In, c.type, c.shape["count"]},
          {"codes", Use::Out, DType::U8, code_bytes(c)},
          {"block_scales", Use::Out, DType::U8, nvfp4_blocks(c.shape["count"])},
          {"scale", Use::Out, DType::F32, 1},
          {"maxima", Use::Scratch, DType::U32, numeric::kLargestParts}};
}
std::vector<TensorSpec> decode_tensors(const Case& c) {
  return {{"codes", Use::In, DType::U8, code_bytes(c), Fill::Whole, 256},
          {"block_scales", Use::In, DType::U8, nvfp4_blocks(c.shape["count"]), Fill::Whole, 127},
          {"scale", Use::In, DType::F32, 1, Fill::Uniform, 2},
          {"y", Use::Out, c.type, c.shape["count"]}};
}
Work work(const Case& c, double reads) {
  const auto wire = static_cast<double>(numeric::nvfp4_bytes(c.shape["count"]));
  return {2 * static_cast<double>(c.shape["count"]), reads * stored_bytes(c) + wire};
}
Work encode_work(const Case& c) { return work(c, 2); }  // the tensor's scale comes first
Work decode_work(const Case& c) { return work(c, 1); }

std::uint32_t e2m1_reference(double quotient) {
  return nearest_code(quotient, 7, numeric::E2m1::decode) + (std::signbit(quotient) ? 8U : 0U);
}

void encode_reference(const Case& c, Values& v) {
  const std::int64_t count = c.shape["count"];
  const double top = double{numeric::kNvfp4Top};
  const double tensor = scale_reference(largest_magnitude(v[0].data(), count), top * 448);
  v[3][0] = tensor;
  for (std::int64_t first = 0; first < count; first += kNvfp4Block) {
    const double* x = v[0].data() + first;
    const std::int64_t size = std::min(kNvfp4Block, count - first);
    const double units = to_float(largest_magnitude(x, size) / to_float(top * tensor));
    const std::uint32_t block = nearest_code(units, 126, numeric::E4m3::decode);
    const double scale = to_float(numeric::E4m3::decode(block) * tensor);
    const double inverse = scale < double{numeric::kSmallestNormal} ? 0 : to_float(1 / scale);
    v[2][static_cast<std::size_t>(first / kNvfp4Block)] = block;
    for (std::int64_t i = 0; i < size; ++i)
      v[1][static_cast<std::size_t>((first + i) / 2)] +=
          e2m1_reference(to_float(x[i] * inverse)) * (i % 2 == 0 ? 1 : 16);
  }
}
void decode_reference(const Case& c, Values& v) {
  for (std::size_t i = 0; i < v[3].size(); ++i) {
    const auto byte = static_cast<std::uint32_t>(v[0][i / 2]);
    const double block = numeric::E4m3::decode(static_cast<std::uint32_t>(v[1][i / 16]));
    const double value = numeric::E2m1::decode(i % 2 == 0 ? byte % 16 : byte / 16);
    v[3][i] = stored(c.type, to_float(value * to_float(block * v[2][0])));
  }
}

template <class T>
float largest_of(const T* x, std::int64_t count) {
  std::int32_t largest = 0;  // signed: vector instructions compare those
  for (std::int64_t i = 0; i < count; ++i) {
    const auto m = static_cast<std::int32_t>(numeric::finite_magnitude(static_cast<float>(x[i])));
    largest = m > largest ? m : largest;
  }
  return numeric::float_of(static_cast<std::uint32_t>(largest));
}

template <class T>
void encode_cpu(const Call& call) {
  const std::int64_t count = call["count"];
  const T* x = call.at<T>(0);
  const float tensor = numeric::nvfp4_tensor_scale(largest_of(x, count));
  call.at<float>(3)[0] = tensor;
  for (std::int64_t first = 0; first < count; first += kNvfp4Block) {
    const std::int64_t size = std::min(kNvfp4Block, count - first);
    float quotients[kNvfp4Block] = {};
    for (std::int64_t i = 0; i < size; ++i) quotients[i] = static_cast<float>(x[first + i]);
    const std::uint8_t block = numeric::nvfp4_block_code(largest_of(quotients, size), tensor);
    const float inverse = numeric::nvfp4_inverse(numeric::nvfp4_scale(block, tensor));
    call.at<std::uint8_t>(2)[first / kNvfp4Block] = block;
    std::uint32_t codes[kNvfp4Block];
    for (std::int64_t i = 0; i < kNvfp4Block; ++i)
      codes[i] = numeric::E2m1::encode(quotients[i] * inverse);
    std::uint8_t* out = call.at<std::uint8_t>(1) + first / 2;
    for (std::int64_t i = 0; i < (size + 1) / 2; ++i)
      out[i] = static_cast<std::uint8_t>(codes[2 * i] | codes[2 * i + 1] << 4);
  }
}
template <class T>
void decode_cpu(const Call& call) {
  const std::int64_t count = call["count"];
  T* y = call.at<T>(3);
  for (std::int64_t first = 0; first < count; first += kNvfp4Block) {
    const float scale =
        numeric::nvfp4_scale(call.at<std::uint8_t>(1)[first / kNvfp4Block], call.at<float>(2)[0]);
    const std::uint8_t* codes = call.at<std::uint8_t>(0) + first / 2;
    const std::int64_t size = std::min(kNvfp4Block, count - first);
    for (std::int64_t i = 0; i < size; ++i)
      y[first + i] = T(numeric::E2m1::decode(codes[i / 2] >> (i % 2 * 4) & 15U) * scale);
  }
}

std::vector<Shape> test_shapes() {
  return {{{"count", 1}}, {{"count", 16}}, {{"count", 37}}, {{"count", 2051}}, {{"count", 20480}}};
}
}  // namespace

std::vector<Operation> quantise_nvfp4_operations() {
  return {{"quantise-nvfp4", "encode", "E2M1 codes, E4M3 scales per 16 elements, one fp32 scale",
           kFloats, encode_tensors, encode_work, test_shapes, count_bench_shapes, encode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, encode_cpu); },
           PACELINE_ON_DEVICE(quantise_nvfp4_encode)},
          {"quantise-nvfp4", "decode", "values of NVFP4 codes and scales", kFloats, decode_tensors,
           decode_work, test_shapes, count_bench_shapes, decode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, decode_cpu); },
           PACELINE_ON_DEVICE(quantise_nvfp4_decode)}};
}

}  // namespace paceline::kernels
