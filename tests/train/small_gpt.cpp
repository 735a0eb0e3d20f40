// SPDX-License-Identifier: Apache-2.0
#include "tests/train/small_gpt.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/train/train.hpp"

namespace paceline::tests {
namespace {

using kernels::train::Parameter;
using Part = Trained::Part;

/// The element of `whole` that stands where element i of `part` stands.
std::size_t place_in_whole(const Parameter& part, std::size_t i) {
  const auto held = static_cast<std::int64_t>(i);
  return static_cast<std::size_t>(part.place(held / part.held_columns, held % part.held_columns));
}

double worst(const Part& part, const Part& whole) {
  REQUIRE(whole.parameter.whole());
  REQUIRE(part.parameter.rows == whole.parameter.rows);
  REQUIRE(part.parameter.columns == whole.parameter.columns);
  double squares = 0;
  for (const float value : whole.values) squares += double{value} * double{value};
  const double rms = std::sqrt(squares / static_cast<double>(whole.values.size()));
  double worst = 0;
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    const double wanted = whole.values[place_in_whole(part.parameter, i)];
    const double error = std::abs(double{part.values[i]} - wanted);
    if (!(error == 0)) worst = std::max(worst, error / rms);
    if (std::isnan(error)) return error;
  }
  return worst;
}

template <class Map>
double worst_of(const Map& parts, const Map& wholes) {
  REQUIRE(!parts.empty());
  double most = 0;
  for (const auto& [key, part] : parts) {
    const auto whole = wholes.find(key);
    REQUIRE(whole != wholes.end());
    const double found = worst(part, whole->second);
    if (!(found <= most)) most = found;
    if (std::isnan(found)) return found;
  }
  return most;
}

}  // namespace

models::Scenario small_scenario(const std::string& more) {
  base::Document document = base::parse_yaml(
      "model: {hidden: 32, layers: 4, heads: 4, ffn: 64, vocab: 256, positions: 16, tied: false}\n"
      "cluster: {preset: dgx-a100, nodes: 1}\n"
      "batch: {global: 8, micro: 1, sequence: 16}\n"
      "parallel: {dp: 1}\n"
      "schedule: {name: gpipe}\n",
      "test.yaml");
  base::merge(document.root, base::parse_yaml(more.empty() ? "{}" : more, "test.yaml").root);
  return models::read_scenario(document);
}

Trained train(const models::Scenario& scenario, const sim::Program& program,
              const kernels::Communicator& world, int steps, std::uint64_t seed) {
  const models::Plan plan = models::make_plan(scenario);
  const kernels::train::Text text(std::string(kernels::train::bundled_text()), "text",
                                  scenario.batch.sequence, seed);
  Trained trained;
  kernels::train::Job job{scenario,
                          plan,
                          program,
                          world,
                          kernels::cpu_backend(),
                          text,
                          kernels::train::optimizer_of(scenario),
                          seed,
                          {}};
  job.on_gradient = [&](const kernels::train::Gradient& g) {
    trained.gradients[{g.update, g.parameter.name}] = {g.parameter, g.values};
  };
  kernels::train::Executor executor(job);
  while (std::ssize(trained.losses) < steps) {
    const std::vector<double> losses = executor.run();
    trained.losses.insert(trained.losses.end(), losses.begin(), losses.end());
  }
  executor.for_each_weight([&](const Parameter& p, std::vector<float> values) {
    trained.weights[p.name] = {p, std::move(values)};
  });
  return trained;
}

Trained train(const models::Scenario& scenario, const kernels::Communicator& world, int steps,
              std::uint64_t seed) {
  const models::Plan plan = models::make_plan(scenario);
  return train(scenario, kernels::train::training_program(scenario, plan, steps), world, steps,
               seed);
}

Trained train_late(const models::Scenario& scenario, int steps, int delay, std::uint64_t seed) {
  using namespace kernels::train;
  const models::Plan plan = models::make_plan(scenario);
  const Text text(std::string(bundled_text()), "text", scenario.batch.sequence, seed);
  const GptShape shape = gpt_shape(scenario, 0);
  Device device(kernels::cpu_backend());
  const Tables tables = make_tables(device, shape);
  const Context context{device, shape, tables, nullptr};
  const StageLayout layout = stage_layout(shape, plan.stages.at(0));
  const Optimizer optimizer = optimizer_of(scenario);
  std::vector<Block> states = optimizer_states(device, optimizer, layout), weights;
  weights.push_back(device.take(layout.count));
  device.to_device(weights.back().floats(), initial_values(layout, seed));
  Trained trained;
  const auto keep = [&](const Parameter& p, const Block& from) -> Part {
    return {p, device.to_host(from.floats(p.offset, p.count()))};
  };
  for (int step = 0; step < steps; ++step) {
    const Block& read = weights[static_cast<std::size_t>(std::max(0, step - delay))];
    const Values values{layout, read.floats()};
    const Block gradients = device.zeros(layout.count);
    double loss = 0;
    for (int m = 0; m < plan.microbatches; ++m) {
      Text::Batch batch = text.batch(std::int64_t{step} * plan.microbatches + m, 1);
      StageRecord record =
          begin_record(context, layout, {{}, std::move(batch.tokens), std::move(batch.targets)});
      stage_forward(context, layout, values, record);
      loss += mean_loss(context, record) / plan.microbatches;
      stage_backward(context, layout, values, record, {},
                     1.0 / static_cast<double>(plan.microbatches * shape.rows()));
      stage_weight_gradients(context, layout, record, {layout, gradients.floats()});
    }
    trained.losses.push_back(loss);
    for (const Parameter& p : layout.parameters)
      trained.gradients[{step, p.name}] = keep(p, gradients);
    Block next = device.copy_of(weights.back().floats());
    optimizer_step(device, optimizer, layout, next, gradients, states, step + 1);
    weights.push_back(std::move(next));
  }
  for (const Parameter& p : layout.parameters) trained.weights[p.name] = keep(p, weights.back());
  return trained;
}

double worst_gradient(const Trained& part, const Trained& whole) {
  return worst_of(part.gradients, whole.gradients);
}

double worst_weight(const Trained& part, const Trained& whole) {
  return worst_of(part.weights, whole.weights);
}

double worst_loss(const Trained& a, const Trained& b) {
  REQUIRE(a.losses.size() == b.losses.size());
  double most = 0;
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    most = std::max(most, std::abs(a.losses[i] - b.losses[i]));
  return most;
}

}  // namespace paceline::tests
