// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublaslt.hpp"

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"

namespace paceline::kernels::cuda {
namespace {

void* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name}) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw base::MissingError("cuda: " + name +
                           " is not found; matrix products need cuBLAS (in LD_LIBRARY_PATH)");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw base::MissingError(std::string("cuda: the cuBLASLt found here has no ") + name +
                             "; install the version this program was built with");
}

CublasLt load() {
  void* library = open_library();
  CublasLt lt{};
  find(library, "cublasLtCreate", lt.create);
  find(library, "cublasLtDestroy", lt.destroy);
  find(library, "cublasLtGetStatusString", lt.status_string);
  find(library, "cublasLtMatmul", lt.matmul);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic);
  find(library, "cublasLtMatmulDescCreate", lt.make_product);
  find(library, "cublasLtMatmulDescDestroy", lt.drop_product);
  find(library, "cublasLtMatmulDescSetAttribute", lt.set_product);
  find(library, "cublasLtMatrixLayoutCreate", lt.make_layout);
  find(library, "cublasLtMatrixLayoutDestroy", lt.drop_layout);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.set_layout);
  find(library, "cublasLtMatmulPreferenceCreate", lt.make_preference);
  find(library, "cublasLtMatmulPreferenceDestroy", lt.drop_preference);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.set_preference);
  return lt;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt loaded = load();
  return loaded;
}

void check(cublasStatus_t status, std::source_location place) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string file = place.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  throw base::Error("cublaslt", std::string(cublaslt().status_string(status)) + " (" + file + ":" +
                                    std::to_string(place.line()) + ")");
}

}  // namespace paceline::kernels::cuda
