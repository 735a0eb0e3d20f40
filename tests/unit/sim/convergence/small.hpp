// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <string>

#include "sim/convergence/method.hpp"

/// Objectives, methods and runs from one line of YAML each.
namespace paceline::tests {

inline sim::convergence::Objective objective_of(const std::string& yaml, std::uint64_t seed = 1) {
  const base::Document document = base::parse_yaml(yaml, "objective");
  base::Fields fields(document, document.root);
  const auto maker = sim::convergence::read_objective(fields);
  fields.done();
  return maker(seed);
}

inline sim::convergence::Method method_of(const std::string& yaml) {
  const base::Document document = base::parse_yaml(yaml, "method");
  base::Fields fields(document, document.root);
  auto method = sim::convergence::read_method(fields);
  fields.done();
  return method;
}

inline sim::convergence::Training training_of(std::int64_t steps, double rate, int batch = 4) {
  sim::convergence::Training t;
  t.steps = steps;
  t.rate = rate;
  t.batch = batch;
  t.points = 4;
  return t;
}

inline sim::convergence::Run run_of(const sim::convergence::Objective& f, const std::string& method,
                                    const sim::convergence::Training& t,
                                    const char* optimizer = "sgd") {
  const std::atomic<bool> stop{false};
  return method_of(method)(f, sim::convergence::default_optimizer(optimizer), t, stop);
}

}  // namespace paceline::tests
