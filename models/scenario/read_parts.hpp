// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"

/// Parts of a scenario that modules state as well.
namespace paceline::models::detail {

/// `devices`: those the degrees may use; dp takes what is left of them unless it is given.
Parallel read_parallel(base::Fields fields, int devices);
OptimizerChoice read_optimizer(base::Fields& scenario, const base::Document& document);
void read_recompute(base::Fields& fields, Scenario& scenario);
/// Only where the scenario does not name one: the stack's, with a note where it gives way.
void read_attention(base::Fields& fields, Scenario& scenario);
GivenCosts read_costs(base::Fields fields);
/// Says of rules of `compression` that nothing ever meets, as an assumption, and why.
void note_idle_rules(Scenario& scenario);
/// Where the keys that later steps complain about stand, below `prefix` of the document.
void remember_places(const base::Document& document, const std::string& prefix,
                     const std::string& shown, Scenario& scenario);

/// `model: {modules: [...]}`, once all else of the scenario is read: fills s.modules, and sets the
/// model, layout, batch and schedule of the scenario to those of the main module.
void read_modules(base::Fields model, const base::Document& document, const std::string& folder,
                  Scenario& s);

}  // namespace paceline::models::detail
