// SPDX-License-Identifier: Apache-2.0
// Any bytes as config.json: a model whose counts are sane, or base::Error.
#include <cstdint>
#include <string_view>

#include "base/config.hpp"
#include "models/workload/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paceline;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const models::Model model = models::read_huggingface(base::parse_json(text, "config.json"));
    const std::int64_t total = models::total_parameters(model);
    PACELINE_CHECK(total > 0);
    PACELINE_CHECK(models::total_parameters(model, true) >= total);
    PACELINE_CHECK(models::active_parameters(model) > 0);
    PACELINE_CHECK(models::active_parameters(model) <= total);
    PACELINE_CHECK(models::checkpoint_scales(model, true) >= 0);
    PACELINE_CHECK(model.vision_parameters >= 0);
    PACELINE_CHECK(!models::describe(model).empty());
  } catch (const base::Error&) {
  }
  return 0;
}
