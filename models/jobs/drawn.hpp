// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/jobs/jobs_file.hpp"

namespace paceline::models {

/// One instance of a file: regions, links and jobs with every number settled.
struct JobsInstance {
  std::vector<JobRegion> regions;
  std::vector<std::vector<JobLink>> links;
  std::vector<Job> jobs;  ///< by arrival
};

/// Instance `index` of `file`; the same for the same seed and index, and what one assumption draws
/// does not move what another does.
JobsInstance draw(const JobsFile& file, int index);

}  // namespace paceline::models
