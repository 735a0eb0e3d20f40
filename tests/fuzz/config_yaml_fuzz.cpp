// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tests/fuzz/config_checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace base = paceline::base;
  const std::string text(data, data + size);
  paceline::fuzz::only_clear_errors([&] {
    paceline::fuzz::check_document(base::parse_yaml(text, "input.yaml", paceline::fuzz::kLimits));
  });
  return 0;
}
