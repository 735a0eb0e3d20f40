// SPDX-License-Identifier: Apache-2.0
#include "kernels/cudnn/api.hpp"

#include <algorithm>
#include <type_traits>

#include "base/error.hpp"
#include "base/module.hpp"
#include "kernels/library.hpp"

namespace paceline::kernels::cudnn {
namespace {

// Statuses come in categories of a thousand; 3000 to 3999 say what is not supported.
constexpr Status kCategory = 1000, kNotSupported = 3;

}  // namespace

std::string version_text(std::size_t version) {
  // 8907 is 8.9.7; from 9 on minor and patch have two digits.
  const std::size_t major_unit = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major_unit) + "." + std::to_string(version % major_unit / 100) +
         "." + std::to_string(version % 100);
}

#define PACELINE_CUDNN_FUNCTIONS(use)                                                     \
  use(Create) use(Destroy) use(SetStream) use(GetErrorString) use(GetLastErrorString)     \
      use(BackendCreateDescriptor) use(BackendDestroyDescriptor) use(BackendSetAttribute) \
          use(BackendGetAttribute) use(BackendFinalize) use(BackendExecute)

Api load(std::span<const char* const> names) {
  std::string why;
  void* library = base::open_library(names, why);
  if (library == nullptr)
    throw base::MissingError("cuDNN is not available: " + why +
                             "; it comes as the package libcudnn9, or its folder belongs in "
                             "LD_LIBRARY_PATH");
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        base::find_symbol(library, name, why));
    return function != nullptr;
  };
  Api api;
  std::size_t (*version)() = nullptr;
  bool all = find(version, "cudnnGetVersion");
  if (all) api.version = version();
  if (all && api.version < kOldestCudnn)
    throw base::MissingError("cuDNN " + version_text(api.version) +
                             " is too old: " + version_text(kOldestCudnn) + " or later is needed");
#define PACELINE_CUDNN_FIND(name) all = all && find(api.name, "cudnn" #name);
  PACELINE_CUDNN_FUNCTIONS(PACELINE_CUDNN_FIND)
#undef PACELINE_CUDNN_FIND
  if (!all) throw base::MissingError("cuDNN is not usable: " + why);
  return api;
}

const Api& api() {
  // 8 is looked for so that its users read that it is too old.
  constexpr const char* kNames[] = {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9",
                                    "libcudnn.so.8", "/usr/local/cuda/lib64/libcudnn.so.8"};
  static const Api found = load(kNames);
  return found;
}

void check(const Api& api, Status status, const std::string& doing) {
  if (status == kSuccess) return;
  char reason[512] = {};
  api.GetLastErrorString(reason, sizeof reason);
  std::string text = reason;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  const std::string problem =
      doing + ": " + api.GetErrorString(status) + (text.empty() ? "" : ": " + text);
  if (status / kCategory == kNotSupported) throw Unsupported("cudnn", problem);
  throw base::Error("cudnn", problem);
}

}  // namespace paceline::kernels::cudnn
