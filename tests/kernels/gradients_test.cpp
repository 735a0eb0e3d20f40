// SPDX-License-Identifier: Apache-2.0
// References of gradients against differences of the forward references, in double precision: the
// references are what everything else is compared with.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/distributions.hpp"
#include "base/rng.hpp"
#include "tests/kernels/named.hpp"

using namespace paceline::kernels;

namespace {

/// A fixed loss: the sum of outputs times what `weights` says under "d" and their name.
double loss_of(const Named& outputs, const Named& weights) {
  double loss = 0;
  for (const auto& [name, values] : outputs) {
    const auto found = weights.find("d" + name);
    if (found != weights.end())
      loss = std::inner_product(values.begin(), values.end(), found->second.begin(), loss);
  }
  return loss;
}

/// Every output dX of the gradient's reference is the slope of the loss along X.
void check_gradient(const Operation& forward, const Operation& gradient, const Case& c) {
  const Named inputs = random_inputs(forward, c, 3);
  Named known = by_reference(forward, c, inputs);
  const Named weights = random_inputs(gradient, c, 4);
  Named upstream;
  for (const auto& [name, values] : weights) {
    if (name[0] == 'd') upstream[name] = known[name] = values;
  }
  const Named slopes = by_reference(gradient, c, known);
  int compared = 0;
  for (const TensorSpec& spec : gradient.tensors(c)) {
    if (spec.use != Use::Out && spec.use != Use::InOut) continue;
    const std::string along = spec.name + 1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(spec.count); ++i) {
      constexpr double kStep = 1e-5;
      Named up = inputs, down = inputs;
      up.at(along)[i] += kStep;
      down.at(along)[i] -= kStep;
      const double slope = (loss_of(by_reference(forward, c, up), upstream) -
                            loss_of(by_reference(forward, c, down), upstream)) /
                           (2 * kStep);
      INFO(spec.name << "[" << i << "] " << c.shape.text());
      CHECK(slopes.at(spec.name)[i] == Approx(slope).epsilon(1e-5).margin(1e-7));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

}  // namespace

TEST_CASE("gradients are the slopes of their forward passes", "[kernels]") {
  int pairs = 0;
  for (const char* kernel : {"rmsnorm", "layernorm", "softmax", "gelu", "swiglu", "rope",
                             "cross-entropy", "embedding"}) {
    for (const Operation& gradient : operations()) {
      const std::string_view pass = gradient.pass;
      if (gradient.kernel != std::string_view(kernel) || pass == "forward") continue;
      const Operation& forward = operation(kernel, "forward");
      INFO(kernel << " " << pass);
      for (const std::size_t i : {0, 1})
        check_gradient(forward, gradient, {DType::F32, forward.test_shapes()[i]});
      ++pairs;
    }
  }
  CHECK(pairs == 10);
}
