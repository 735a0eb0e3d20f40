// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/jobs/jobs_file.hpp"

/// Parts of the reader of jobs files.
namespace paceline::models {

/// A name on one line, 1 to 60 characters.
std::string job_name(base::Fields& fields, std::string_view key);
/// `work` and `kinds`.
void read_job_kinds(const base::Document& document, base::Fields& fields, JobsFile& file);
/// The file without `vary`, `compare` and `expect`.
JobsFile read_jobs_variant(const base::Document& document);

}  // namespace paceline::models
