// SPDX-License-Identifier: Apache-2.0
// Any bytes as a jobs file: what is accepted and small runs under every policy it names, whose laws
// are checked as it runs.
#include <algorithm>
#include <cstdint>

#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/run_jobs.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace paceline;

/// Keeps an input below some milliseconds.
bool is_small(const models::JobsFile& file) {
  if (file.regions.size() > 5 || std::max(file.jobs.size(), file.kinds.size()) > 8) return false;
  if (file.random.jobs > 8 || file.random.instances > 2) return false;
  if (!file.random.devices.empty() &&
      *std::max_element(file.random.devices.begin(), file.random.devices.end()) > 16)
    return false;
  return std::all_of(file.regions.begin(), file.regions.end(),
                     [](const auto& region) { return region.devices <= 16; }) &&
         std::all_of(file.kinds.begin(), file.kinds.end(),
                     [](const auto& kind) { return kind.microbatches <= 16; });
}

void check_jobs(const models::JobsStudy& read) {
  PACELINE_CHECK(!read.variants.empty() && !read.columns.header.empty());
  const models::JobsStudy study = without_variants(read);
  if (!is_small(study.base())) return;
  const sim::jobs::JobsResult result = sim::jobs::run_jobs(study, {.threads = 1});
  PACELINE_CHECK(result.outcomes.size() == study.base().policies.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  // What stands in other files is no input of this target.
  if (text.find("scenario") != std::string::npos) return 0;
  fuzz::only_clear_errors(
      [&] { check_jobs(models::read_jobs(base::parse_yaml(text, "input.yaml", fuzz::kLimits))); });
  return 0;
}
