// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/nccl_api.hpp"

#include "base/error.hpp"
#include "base/module.hpp"
#include "kernels/collective/nccl.hpp"

namespace paceline::kernels {

NcclApi load_nccl(std::span<const char* const> names) {
  std::string why;
  void* library = base::open_library(names, why);
  if (library == nullptr)
    throw base::MissingError("NCCL is not available: " + why +
                             "; it comes with the CUDA toolkit or as the package libnccl2");
  NcclApi api;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        base::find_symbol(library, name, why));
    return function != nullptr;
  };
  bool all = true;
  const auto version = find(api.GetVersion, "ncclGetVersion");
  if (version) api.GetVersion(&api.version);
  if (version && api.version < kOldestNccl)
    throw base::MissingError("NCCL " + nccl_version_text(api.version) + " is too old: " +
                             nccl_version_text(kOldestNccl) + " or later is needed");
#define PACELINE_NCCL_FIND(name) all = all && find(api.name, "nccl" #name);
  PACELINE_NCCL_FUNCTIONS(PACELINE_NCCL_FIND)
#undef PACELINE_NCCL_FIND
  if (!all) throw base::MissingError("NCCL is not usable: " + why);
  find(api.GetLastError, "ncclGetLastError");
  return api;
}

const NcclApi& nccl_api() {
  constexpr const char* kNames[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"};
  static const NcclApi api = load_nccl(kNames);
  return api;
}

int nccl_version() { return nccl_api().version; }
int nccl_version_of(const char* library) { return load_nccl({&library, 1}).version; }

}  // namespace paceline::kernels
