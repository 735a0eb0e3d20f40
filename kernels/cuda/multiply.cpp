// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt: descriptors and the algorithm that its heuristics put first are made once
// per shape, alignment and device, and kept.
#include <algorithm>
#include <compare>
#include <map>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublaslt.hpp"
#include "kernels/gemm/column_major.hpp"

namespace paceline::kernels::cuda {
namespace {

/// What cuBLAS itself takes on Hopper (cuBLAS guide, cublasSetWorkspace).
constexpr std::size_t kWorkspace = 32U << 20;

struct DropMemory {
  void operator()(void* data) const { cudaFree(data); }
};
using Memory = std::unique_ptr<void, DropMemory>;

struct LayoutKey {
  DType type;
  std::int64_t rows, columns, stride, step;
  unsigned alignment;  ///< of the data, bytes
  auto operator<=>(const LayoutKey&) const = default;
};
struct Key {
  LayoutKey first, second, addend, result;
  std::int64_t batch;
  bool first_transposed, second_transposed, tf32;
  bool first_scaled, second_scaled;
  auto operator<=>(const Key&) const = default;
};

struct Plan {
  Lt<cublasLtMatmulDesc_t> product;
  Lt<cublasLtMatrixLayout_t> first, second, addend, result;
  cublasLtMatmulAlgo_t algorithm{};
  bool found = false;
};

/// One device: its handle, plans by shape, a workspace per stream.
struct Device {
  Lt<cublasLtHandle_t> handle;
  std::map<Key, Plan> plans;
  std::map<void*, Memory> workspaces;
};

unsigned alignment_of(const void* data) {
  unsigned bytes = 256;
  while (reinterpret_cast<std::uintptr_t>(data) % bytes != 0) bytes /= 2;
  return bytes;
}

LayoutKey key_of(const ColumnMajorMatrix& m) {
  return {m.type, m.rows, m.columns, m.stride, m.step, alignment_of(m.data)};
}

cudaDataType_t cuda_type(DType type) {
  switch (type) {
    case DType::Bf16:
      return CUDA_R_16BF;
    case DType::F16:
      return CUDA_R_16F;
    case DType::E4m3:
      return CUDA_R_8F_E4M3;
    case DType::E5m2:
      return CUDA_R_8F_E5M2;
    default:
      PACELINE_CHECK(type == DType::F32);
  }
  return CUDA_R_32F;
}

template <class T>
void set(const Plan& plan, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(cublaslt().set_product(plan.product.get(), attribute, &value, sizeof value));
}

void set_scales(const Plan& plan, const ColumnMajorProduct& c) {
  if (c.first_scale != nullptr) set(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, c.first_scale);
  if (c.second_scale != nullptr) set(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, c.second_scale);
}

Lt<cublasLtMatrixLayout_t> layout(const LayoutKey& key, std::int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublaslt().make_layout(&made, cuda_type(key.type), static_cast<std::uint64_t>(key.rows),
                               static_cast<std::uint64_t>(key.columns), key.stride));
  Lt<cublasLtMatrixLayout_t> result(made);
  const auto count = static_cast<std::int32_t>(batch);
  const auto set = cublaslt().set_layout;
  check(set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  check(set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &key.step, sizeof key.step));
  return result;
}

/// The algorithm that the heuristics put first; none is found for fp8 off 16 bytes.
void choose(const Device& device, const Key& key, Plan& plan) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublaslt().make_preference(&made));
  const Lt<cublasLtMatmulPreference_t> preference(made);
  const auto want = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublaslt().set_preference(made, attribute, &value, sizeof value));
  };
  want(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{key.first.alignment});
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{key.second.alignment});
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t{key.addend.alignment});
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{key.result.alignment});
  cublasLtMatmulHeuristicResult_t best{};
  int count = 0;
  const cublasStatus_t status = cublaslt().heuristic(
      device.handle.get(), plan.product.get(), plan.first.get(), plan.second.get(),
      plan.addend.get(), plan.result.get(), preference.get(), 1, &best, &count);
  plan.found = status == CUBLAS_STATUS_SUCCESS && count > 0 && best.state == CUBLAS_STATUS_SUCCESS;
  plan.algorithm = best.algo;
}

Plan make_plan(const Device& device, const Key& key, const ColumnMajorProduct& c) {
  Plan plan;
  cublasLtMatmulDesc_t made = nullptr;
  check(cublaslt().make_product(&made, key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                CUDA_R_32F));
  plan.product.reset(made);
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(plan, CUBLASLT_MATMUL_DESC_TRANSA, operation(key.first_transposed));
  set(plan, CUBLASLT_MATMUL_DESC_TRANSB, operation(key.second_transposed));
  plan.first = layout(key.first, key.batch);
  plan.second = layout(key.second, key.batch);
  plan.addend = layout(key.addend, key.batch);
  plan.result = layout(key.result, key.batch);
  set_scales(plan, c);
  choose(device, key, plan);
  return plan;
}

Device& current_device() {
  static std::map<int, Device> devices;
  int current = 0;
  check(cudaGetDevice(&current));
  Device& device = devices[current];
  if (!device.handle) {
    cublasLtHandle_t made = nullptr;
    check(cublaslt().create(&made));
    device.handle.reset(made);
  }
  return device;
}

void* workspace(Device& device, Stream stream) {
  Memory& memory = device.workspaces[stream.handle];
  if (!memory) {
    void* data = nullptr;
    check(cudaMalloc(&data, kWorkspace));
    memory.reset(data);
  }
  return memory.get();
}

void run(Device& device, const Plan& plan, const Product& p, const ColumnMajorProduct& c,
         Stream stream) {
  set_scales(plan, c);
  check(cublaslt().matmul(device.handle.get(), plan.product.get(), &p.alpha, c.first.data,
                          plan.first.get(), c.second.data, plan.second.get(), &p.beta,
                          c.addend.data, plan.addend.get(), p.result, plan.result.get(),
                          &plan.algorithm, workspace(device, stream), kWorkspace,
                          static_cast<cudaStream_t>(stream.handle)));
}

}  // namespace

void multiply(const Product& p, Stream stream) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  if (p.k == 0) return multiply_plain(p, stream);
  const ColumnMajorProduct c = column_major(p);
  const Key key{key_of(c.first),          key_of(c.second), key_of(c.addend),
                key_of(c.result),         p.batch,          c.first_transposed,
                c.second_transposed,      p.tf32,           c.first_scale != nullptr,
                c.second_scale != nullptr};
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Device& device = current_device();
  auto found = device.plans.find(key);
  if (found == device.plans.end())
    found = device.plans.emplace(key, make_plan(device, key, c)).first;
  if (found->second.found) return run(device, found->second, p, c, stream);
  if (p.b.type != DType::E4m3)
    throw base::Error("cublaslt", "no algorithm for m=" + std::to_string(p.m) +
                                      " n=" + std::to_string(p.n) + " k=" + std::to_string(p.k) +
                                      " in " + std::string(name_of(p.a.type)));
  multiply_plain(p, stream);
}

void require_cublaslt() { cublaslt(); }

}  // namespace paceline::kernels::cuda
