// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error.hpp"
#include "kernels/device_code.hpp"
#include "kernels/gemm/product.hpp"
#include "kernels/gemm/tile.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

using numeric::bf16;
using numeric::fp16;
using numeric::fp8_e4m3;
using numeric::fp8_e5m2;

/// alpha * sums + beta * addend in the type of the result.
struct Store {
  void* result;
  const void* addend;
  DType type;
  std::int64_t stride, step;
  int columns;
  float alpha, beta;
  const float *a_scale, *b_scale;
  bool aligned;

  template <class T>
  __device__ void four(std::int64_t at, int valid, const float* sums, float factor) const {
    T* to = static_cast<T*>(result) + at;
    Vector<float, 4> values{};
    if (beta != 0) read_floats<4>(static_cast<const T*>(addend) + at, valid, aligned, values.at);
    PACELINE_UNROLL
    for (int i = 0; i < 4; ++i) values.at[i] = factor * sums[i] + beta * values.at[i];
    write_floats<4>(values.at, to, valid, aligned);
  }
  __device__ void operator()(std::int64_t batch, int row, int column, const float* sums) const {
    const std::int64_t at = batch * step + row * stride + column;
    float factor = alpha;
    if (a_scale != nullptr) factor *= *a_scale;
    if (b_scale != nullptr) factor *= *b_scale;
    if (type == DType::F32) return four<float>(at, columns - column, sums, factor);
    if (type == DType::Bf16) return four<bf16>(at, columns - column, sums, factor);
    four<fp16>(at, columns - column, sums, factor);
  }
};

template <class A, Inner IA, class B, Inner IB>
__global__ void __launch_bounds__(kProductThreads, 2)
    product(TileFactor<A, IA> a, TileFactor<B, IB> b, std::int64_t batches, Store store) {
  for (std::int64_t batch = blockIdx.z; batch < batches; batch += gridDim.z)
    multiply_tile(a, b, batch, store);
}

template <class A, Inner IA, class B, Inner IB>
void launch_form(const Product& p, Stream stream) {
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  const TileFactor<A, IA> a{static_cast<const A*>(p.a.data),
                            p.a.stride,
                            p.a.step,
                            m,
                            k,
                            rows_aligned<A>(p.a.data, p.a.stride, p.a.step)};
  const TileFactor<B, IB> b{static_cast<const B*>(p.b.data),
                            p.b.stride,
                            p.b.step,
                            n,
                            k,
                            rows_aligned<B>(p.b.data, p.b.stride, p.b.step)};
  const auto four = [&](const void* data) {
    const std::size_t bytes = 4 * bytes_of(p.result_type);
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && p.stride % 4 == 0 &&
           p.step % 4 == 0;
  };
  const Store store{p.result,
                    p.addend,
                    p.result_type,
                    p.stride,
                    p.step,
                    n,
                    p.alpha,
                    p.beta,
                    p.a_scale,
                    p.b_scale,
                    four(p.result) && (p.addend == nullptr || four(p.addend))};
  launch(product<A, IA, B, IB>, tile_grid(p.m, p.n, p.batch), kProductThreads, 0, stream, a, b,
         p.batch, store);
}

template <class T>
void launch_same(const Product& p, Stream stream) {
  if (p.a.transposed) {
    PACELINE_CHECK(!p.b.transposed);
    return launch_form<T, Inner::Rows, T, Inner::Rows>(p, stream);
  }
  if (p.b.transposed) return launch_form<T, Inner::Depth, T, Inner::Depth>(p, stream);
  launch_form<T, Inner::Depth, T, Inner::Rows>(p, stream);
}

void check_extents(const Product& p) {
  constexpr std::int64_t kMost = 0x7fffffff - kTile;  // rows and columns are counted in 32 bits
  if (p.m > kMost || p.n > kMost || p.k > kMost)
    throw base::Error("gemm", "an extent is beyond 2^31", "smaller shapes work");
}

}  // namespace

void multiply_plain(const Product& p, Stream stream) {
  check_extents(p);
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  if (p.a.type == DType::E4m3 || p.a.type == DType::E5m2) {
    PACELINE_CHECK(p.b.type == DType::E4m3 && !p.a.transposed && p.b.transposed);
    if (p.a.type == DType::E4m3)
      return launch_form<fp8_e4m3, Inner::Depth, fp8_e4m3, Inner::Depth>(p, stream);
    return launch_form<fp8_e5m2, Inner::Depth, fp8_e4m3, Inner::Depth>(p, stream);
  }
  PACELINE_CHECK(p.a.type == p.b.type);
  if (p.a.type == DType::F32) return launch_same<float>(p, stream);
  if (p.a.type == DType::Bf16) return launch_same<bf16>(p, stream);
  PACELINE_CHECK(p.a.type == DType::F16);
  launch_same<fp16>(p, stream);
}

#ifdef __CUDACC__
void read_back(void* to, const void* from, std::size_t bytes, Stream stream) {
  const auto native = static_cast<cudaStream_t>(stream.handle);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native));
  check(cudaStreamSynchronize(native));
}
#else
void multiply(const Product& p, Stream stream) { multiply_plain(p, stream); }
void read_back(void* to, const void* from, std::size_t bytes, Stream) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace paceline::kernels::PACELINE_TARGET
