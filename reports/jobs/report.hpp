// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/run_jobs.hpp"

/// What policies make of jobs in regions: text, JSON, CSV, a picture.
namespace paceline::reports {

struct JobsReport {
  std::string version;  ///< of Paceline
  std::string command;  ///< reproduces it
  models::JobsStudy study;
  sim::jobs::JobsResult result;
};

/// A row per policy, then what is compared and expected. `each`: also every job of the first
/// instance.
std::string jobs_text(const JobsReport& report, bool each);
/// Everything, every job of the first instance included (docs/formats.md).
std::string jobs_json(const JobsReport& report);
/// A row per variant, instance, policy: the figures.
std::string jobs_csv(const JobsReport& report);
/// The first instance: devices of every region over time, a panel per policy.
std::string jobs_svg(const JobsReport& report);

/// What the file and its numbers leave open, in words.
std::vector<std::string> jobs_assumptions(const JobsReport& report);

}  // namespace paceline::reports
