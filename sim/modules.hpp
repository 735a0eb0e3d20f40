// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"
#include "sim/program.hpp"

namespace paceline::sim {

/// The program of a model made of modules: the schedule's order of the main module, `main`, and
/// round it the passes of those that feed it. A module with ranks of its own goes forward in the
/// order in which its consumer asks for microbatches, Module::ahead of it at most, and back as
/// gradients come; one that shares ranks takes its turns there (models::Turns). One module: `main`
/// as it is. Throws base::Error for schedules whose first stage stands on several ranks.
Program compose_modules(const models::Scenario& scenario, const models::Plan& plan, Program main);

}  // namespace paceline::sim
