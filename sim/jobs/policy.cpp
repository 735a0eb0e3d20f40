// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/policy.hpp"

#include <array>

#include "base/table.hpp"

namespace paceline::sim::jobs {
namespace {

constexpr std::array kPolicies{
#define PACELINE_JOB_POLICY(function, name, summary) JobPolicyEntry{name, summary, function},
#include "models/jobs/policies.def"
#undef PACELINE_JOB_POLICY
};

}  // namespace

std::span<const JobPolicyEntry> job_policies() { return kPolicies; }

JobPolicy job_policy(std::string_view name) {
  return base::find(kPolicies, name, "", "policy").make();
}

}  // namespace paceline::sim::jobs
