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

/// A trace: a table with the columns time, kind, part and duration, `12 h,node,3,2 h`. Parts are
/// numbers of devices and nodes or names of sites; a job has none. base::Error with
/// file:line:column for a clock that goes backwards, a part that does not exist, or one that fails
/// while it is still away, and for a row whose kind lacks a key.
std::vector<FailureEvent> read_failure_trace(const std::string& path, const Cluster& cluster,
                                             const MissingKeys& missing);

/// With `mode: memory` a copy must outlive what fails: base::Error where the job's only node, or
/// its only site, takes the copy along. Needs modules to be read.
void check_memory_copies(const Scenario& scenario);

}  // namespace paceline::models
