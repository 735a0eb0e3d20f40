// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_scenario.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/library.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/kernel_calls.hpp"

namespace paceline::cli {
namespace {

using kernels::Backend;
using kernels::BenchCase;

/// The operation's own extents with the values of the call; what the call does not know stays as
/// in the first useful shape.
kernels::Shape shape_of(const kernels::Operation& operation, const models::KernelCall& call) {
  kernels::Shape shape = operation.bench_shapes().front();
  for (const auto& [name, value] : call.extents)
    if (shape.has(name)) shape.set(name, value);
  return shape;
}

bool can_measure(const Backend& backend, const BenchCase& c) {
  return backend.has(*c.operation) && kernels::library_lacks(*c.operation, c.c).empty() &&
         kernels::measurable(backend, c);
}

BenchCase case_of(const kernels::Operation& operation, const models::KernelCall& call) {
  BenchCase c{&operation, {operation.types.front(), shape_of(operation, call)}};
  for (const kernels::DType type : operation.types)
    if (kernels::name_of(type) == call.type) c.c.type = type;
  return c;
}

/// What does the call: its kernel, then this program's own where that is a library's; with `only`
/// whatever of the same is named there.
std::vector<const kernels::Operation*> ways_of(const models::KernelCall& call,
                                               const std::vector<std::string>& only) {
  const kernels::Operation* named = kernels::find_operation(call.kernel, call.pass);
  if (named == nullptr) return {};
  const kernels::Operation* own = kernels::own_instead(*named);
  if (only.empty()) return own == nullptr ? std::vector{named} : std::vector{named, own};
  if (own == nullptr) own = named;
  std::vector<const kernels::Operation*> ways;
  for (const kernels::Operation& operation : kernels::operations()) {
    const bool same = &operation == own || kernels::own_instead(operation) == own;
    if (same && std::find(only.begin(), only.end(), operation.kernel) != only.end())
      ways.push_back(&operation);
  }
  return ways;
}

/// The scenario, whose device may have no profile of this program's attention yet, or no file: the
/// shapes are the same before there is one. base::Error of the scenario as it stands.
models::Scenario read_for_shapes(const std::string& path,
                                 const std::vector<std::string>& overrides) {
  const std::vector<std::string> stand_ins[] = {
      {"attention=eager"},
      {"cluster.node.device=h100-sxm"},
      {"cluster.node.device=h100-sxm", "attention=eager"}};
  try {
    return models::read_scenario_file(path, overrides);
  } catch (const base::Error&) {
    for (const std::vector<std::string>& more : stand_ins) {
      std::vector<std::string> set = overrides;
      set.insert(set.end(), more.begin(), more.end());
      try {
        models::Scenario scenario = models::read_scenario_file(path, set);
        if (more.back() == "attention=eager") scenario.attention = "paceline";
        return scenario;
      } catch (const base::Error&) {  // the next one, or what was wrong at first
      }
    }
    throw;
  }
}

}  // namespace

std::vector<BenchCase> scenario_cases(const std::string& path,
                                      const std::vector<std::string>& overrides,
                                      const kernels::BenchChoice& choice, const Backend& backend,
                                      std::size_t& left_out) {
  kernels::check_names(choice);
  kernels::require_named_libraries(backend, choice);
  const models::Scenario scenario = read_for_shapes(path, overrides);
  const auto& only = choice.only;
  std::vector<BenchCase> cases;
  std::vector<std::string> known;
  for (const models::KernelCall& call : models::scenario_kernel_calls(scenario)) {
    const std::vector<const kernels::Operation*> ways = ways_of(call, only);
    bool found = false;
    for (const kernels::Operation* way : ways) {
      const BenchCase c = case_of(*way, call);
      if (!can_measure(backend, c) || (found && only.empty())) continue;
      found = true;
      if (std::find(known.begin(), known.end(), label(c)) != known.end()) continue;
      known.push_back(label(c));
      cases.push_back(c);
    }
    left_out += found || (ways.empty() && !only.empty()) ? 0 : 1;
  }
  return cases;
}

}  // namespace paceline::cli
