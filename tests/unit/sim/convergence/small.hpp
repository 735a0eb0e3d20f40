// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <string>

#include "sim/convergence/method.hpp"

/// Objectives, methods and runs from one line of YAML each.
namespace tests {

namespace convergence = paceline::sim::convergence;

inline convergence::Objective objective_of(const std::string& yaml, std::uint64_t seed = 1) {
  const paceline::base::Document document = paceline::base::parse_yaml(yaml, "objective");
  paceline::base::Fields fields(document, document.root);
  const auto maker = convergence::read_objective(fields);
  fields.done();
  return maker(seed);
}

inline convergence::Method method_of(const std::string& yaml) {
  const paceline::base::Document document = paceline::base::parse_yaml(yaml, "method");
  paceline::base::Fields fields(document, document.root);
  auto method = convergence::read_method(fields);
  fields.done();
  return method;
}

inline convergence::Training training_of(std::int64_t steps, double rate, int batch = 4) {
  convergence::Training t;
  t.steps = steps;
  t.rate = rate;
  t.batch = batch;
  t.points = 4;
  return t;
}

inline convergence::Run run_of(const convergence::Objective& f, const std::string& method,
                               const convergence::Training& t, const char* optimizer = "sgd") {
  const std::atomic<bool> stop{false};
  return method_of(method)(f, convergence::default_optimizer(optimizer), t, stop);
}

}  // namespace tests
