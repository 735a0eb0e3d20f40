// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/failures.hpp"

/// What reading `failures` needs beside its keys. Used by models/scenario only.
namespace paceline::models {

struct Scenario;

/// By FailureKind: the key that rows of it need and `failures` does not say; "": none.
using MissingKeys = std::array<std::string_view, 7>;

/// The same as read_failure_trace(path, cluster); base::Error at a row whose kind lacks a key, too.
std::vector<FailureEvent> read_failure_trace(const std::string& path, const Cluster& cluster,
                                             const MissingKeys& missing);

/// With `mode: memory` a copy must outlive what fails: base::Error where the job's only node, or
/// its only site, takes the copy along. Needs modules to be read.
void check_memory_copies(const Scenario& scenario);

}  // namespace paceline::models
