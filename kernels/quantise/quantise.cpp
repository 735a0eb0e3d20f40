// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise.hpp"

#include "kernels/codec/reference.hpp"
#include "kernels/codec/tables.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using numeric::E4m3Code;
using numeric::E5m2Code;
using numeric::Int8Code;

std::int64_t blocks_of(const Case& c) {
  return numeric::scaled_blocks(c.shape["count"], c.shape["block"]);
}
/// Elements that share a scale, but for the last block.
std::int64_t block_of(const Case& c) {
  return c.shape["block"] == 0 ? c.shape["count"] : c.shape["block"];
}

std::vector<TensorSpec> encode_tensors(const Case& c) {
  return {{"x", Use::In, c.type, c.shape["count"]},
          {"codes", Use::Out, DType::U8, c.shape["count"]},
          {"scales", Use::Out, DType::F32, blocks_of(c)},
          {"maxima", Use::Scratch, DType::U32, c.shape["block"] == 0 ? numeric::kLargestParts : 0}};
}
std::vector<TensorSpec> decode_tensors(const Case& c) {
  return {{"codes", Use::In, DType::U8, c.shape["count"], Fill::Whole, 256},
          {"scales", Use::In, DType::F32, blocks_of(c), Fill::Uniform, 2},
          {"y", Use::Out, c.type, c.shape["count"]}};
}
Work work(const Case& c, double reads) {
  const auto wire = static_cast<double>(numeric::scaled_bytes(c.shape["count"], c.shape["block"]));
  return {2 * static_cast<double>(c.shape["count"]), reads * stored_bytes(c) + wire};
}
Work encode_work(const Case& c) { return work(c, c.shape["block"] == 0 ? 2 : 1); }
Work decode_work(const Case& c) { return work(c, 1); }

/// Codes of formats with a sign bit: by search among all values.
template <class Code>
double code_reference(double quotient) {
  const auto decode = [](std::uint32_t code) {
    return Code::decode(static_cast<std::uint8_t>(code));
  };
  std::uint32_t last = 0;
  while (decode(last) < Code::top()) ++last;
  return nearest_code(quotient, last, decode) + (std::signbit(quotient) ? 128 : 0);
}
template <>
double code_reference<Int8Code>(double quotient) {
  const double whole = std::nearbyint(std::clamp(quotient, -127.0, 127.0));
  return whole < 0 ? 256 + whole : whole;
}

template <class Code>
void encode_reference(const Case& c, Values& v) {
  const std::int64_t count = c.shape["count"], block = block_of(c);
  for (std::int64_t b = 0; b < blocks_of(c); ++b) {
    const std::int64_t size = std::min(block, count - b * block);
    const double* x = v[0].data() + b * block;
    const double scale = scale_reference(largest_magnitude(x, size), double{Code::top()});
    const double inverse = to_float(1 / scale);
    for (std::int64_t i = 0; i < size; ++i)
      v[1][static_cast<std::size_t>(b * block + i)] =
          code_reference<Code>(to_float(x[i] * inverse));
    v[2][static_cast<std::size_t>(b)] = scale;
  }
}
template <class Code>
void decode_reference(const Case& c, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    const double value = Code::decode(static_cast<std::uint8_t>(v[0][i]));
    const double scale = v[1][i / static_cast<std::size_t>(block_of(c))];
    v[2][i] = stored(c.type, to_float(value * scale));
  }
}

template <class T, class Code>
void encode_cpu(const Call& call) {
  const std::int64_t count = call["count"], block = block_of(call.c);
  std::uint8_t* codes = call.at<std::uint8_t>(1);
  for (std::int64_t b = 0; b < blocks_of(call.c); ++b) {
    const std::int64_t first = b * block, last = std::min(first + block, count);
    const T* x = call.at<T>(0);
    std::int32_t largest = 0;  // signed: vector instructions compare those
    for (std::int64_t i = first; i < last; ++i) {
      const auto m = static_cast<std::int32_t>(numeric::finite_magnitude(static_cast<float>(x[i])));
      largest = m > largest ? m : largest;
    }
    const float scale =
        numeric::scale_of(numeric::float_of(static_cast<std::uint32_t>(largest)), Code::top());
    const float inverse = 1 / scale;
    for (std::int64_t i = first; i < last; ++i)
      codes[i] = Code::encode(static_cast<float>(x[i]) * inverse);
    call.at<float>(2)[b] = scale;
  }
}
template <class T, class Code>
void decode_cpu(const Call& call) {
  const std::int64_t count = call["count"], block = block_of(call.c);
  const std::uint8_t* codes = call.at<std::uint8_t>(0);
  T* y = call.at<T>(2);
  for (std::int64_t b = 0; b < blocks_of(call.c); ++b) {
    const float scale = call.at<float>(1)[b];
    for (std::int64_t i = b * block; i < std::min((b + 1) * block, count); ++i)
      y[i] = T(Code::decode(codes[i]) * scale);
  }
}

template <class Code>
struct OfCode {
  template <class T>
  static void encode(const Call& call) {
    encode_cpu<T, Code>(call);
  }
  template <class T>
  static void decode(const Call& call) {
    decode_cpu<T, Code>(call);
  }
};
template <class Code>
void encode(const Call& c) {
  PACELINE_BY_TYPE(c, OfCode<Code>::template encode);
}
template <class Code>
void decode(const Call& c) {
  PACELINE_BY_TYPE(c, OfCode<Code>::template decode);
}

std::vector<Shape> test_shapes() {
  return {{{"count", 1}, {"block", 0}},      {{"count", 1027}, {"block", 0}},
          {{"count", 24577}, {"block", 0}},  {{"count", 1}, {"block", 1}},
          {{"count", 301}, {"block", 7}},    {{"count", 259}, {"block", 16}},
          {{"count", 2051}, {"block", 128}}, {{"count", 1500}, {"block", 500}}};
}
std::vector<Shape> bench_shapes() {
  std::vector<Shape> shapes;
  for (const std::int64_t count : {1 << 20, 1 << 24, 1 << 26}) {
    for (const std::int64_t block : {0, 32, 128})
      shapes.push_back({{"count", count}, {"block", block}});
  }
  return shapes;
}

struct Name {
  const char *kernel, *encode, *decode;
};
using DeviceFunction = void (*)(const Call&, Stream);

template <class Code>
void append(std::vector<Operation>& to, const Name& name, DeviceFunction cuda_encode,
            DeviceFunction simt_encode, DeviceFunction cuda_decode, DeviceFunction simt_decode) {
  to.push_back({name.kernel, "encode", name.encode, kFloats, encode_tensors, encode_work,
                test_shapes, bench_shapes, encode_reference<Code>, encode<Code>, cuda_encode,
                simt_encode});
  to.push_back({name.kernel, "decode", name.decode, kFloats, decode_tensors, decode_work,
                test_shapes, bench_shapes, decode_reference<Code>, decode<Code>, cuda_decode,
                simt_decode});
}

}  // namespace

std::vector<Operation> quantise_operations() {
  std::vector<Operation> result;
  append<E4m3Code>(result,
                   {"quantise-fp8-e4m3", "FP8 E4M3 codes and a scale per block",
                    "values of FP8 E4M3 codes and scales"},
                   PACELINE_ON_DEVICE(quantise_e4m3_encode),
                   PACELINE_ON_DEVICE(quantise_e4m3_decode));
  append<E5m2Code>(result,
                   {"quantise-fp8-e5m2", "FP8 E5M2 codes and a scale per block",
                    "values of FP8 E5M2 codes and scales"},
                   PACELINE_ON_DEVICE(quantise_e5m2_encode),
                   PACELINE_ON_DEVICE(quantise_e5m2_decode));
  append<Int8Code>(result,
                   {"quantise-int8", "8-bit whole numbers and a scale per block",
                    "values of 8-bit whole numbers and scales"},
                   PACELINE_ON_DEVICE(quantise_int8_encode),
                   PACELINE_ON_DEVICE(quantise_int8_decode));
  return result;
}

}  // namespace paceline::kernels
