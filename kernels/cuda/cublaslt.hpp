// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

#include <memory>
#include <source_location>
#include <type_traits>

namespace paceline::kernels::cuda {

/// What is used of cuBLASLt, found at run time: programs start where it is not installed.
struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescCreate) make_product;
  decltype(&cublasLtMatmulDescDestroy) drop_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutCreate) make_layout;
  decltype(&cublasLtMatrixLayoutDestroy) drop_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) drop_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
};

/// Throws base::MissingError where the library of this build's major version is not found.
const CublasLt& cublaslt();

/// Throws base::Error with the call's place and the library's words unless it succeeded.
void check(cublasStatus_t status, std::source_location place = std::source_location::current());

/// Descriptors with the function that drops them.
struct DropLt {
  void operator()(cublasLtHandle_t handle) const { cublaslt().destroy(handle); }
  void operator()(cublasLtMatmulDesc_t product) const { cublaslt().drop_product(product); }
  void operator()(cublasLtMatrixLayout_t layout) const { cublaslt().drop_layout(layout); }
  void operator()(cublasLtMatmulPreference_t p) const { cublaslt().drop_preference(p); }
};
template <class Handle>
using Lt = std::unique_ptr<std::remove_pointer_t<Handle>, DropLt>;

}  // namespace paceline::kernels::cuda
