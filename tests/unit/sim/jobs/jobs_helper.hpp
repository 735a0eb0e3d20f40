// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/config.hpp"
#include "models/jobs/drawn.hpp"
#include "sim/jobs/run_jobs.hpp"

/// Small jobs files for tests.
namespace paceline::tests {

/// `b` is twice as dear as `a`; 1 kW at work, half of it waiting. A job's microbatch takes one
/// device 1 s forward and 2 s backward.
inline const std::string kJobsHead = R"(name: test
regions:
  - {name: a, devices: 4, electricity: 0.1 USD/kWh, uplink: 8 Gb/s}
  - {name: b, devices: 8, electricity: 0.2 USD/kWh, uplink: 8 Gb/s}
power: {active: 1 kW, idle: 500 W}
work: {microbatches: 4, sequence: 10, split: any, schedule: 1f1b}
kinds:
  - {name: k, forward: 1 s, backward: 2 s, activation: 1 MB}
  - {name: two, forward: 1 s, backward: 2 s, activation: 1 MB, most: 2}
  - {name: six, forward: 1 s, backward: 2 s, activation: 1 MB, least: 6, most: 6}
)";

inline models::JobsStudy jobs_study(const std::string& yaml) {
  return models::read_jobs(base::parse_yaml(yaml, "test.yaml"));
}

/// What one policy makes of the first instance.
inline sim::jobs::JobsOutcome outcome_of(const models::JobsFile& file,
                                         const sim::jobs::JobPolicy& policy) {
  sim::jobs::JobSteps steps(file, 12);
  return sim::jobs::simulate_jobs(file, models::draw(file, 0), steps, policy);
}
inline sim::jobs::JobsOutcome outcome_of(const std::string& yaml, const std::string& policy) {
  return outcome_of(jobs_study(yaml).base(), sim::jobs::job_policy(policy));
}

}  // namespace paceline::tests
