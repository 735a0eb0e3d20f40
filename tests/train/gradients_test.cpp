// SPDX-License-Identifier: Apache-2.0
// One process: the model's gradients, and that it learns.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/train/train.hpp"
#include "tests/train/small_gpt.hpp"

using namespace paceline;
using namespace paceline::tests;
using namespace paceline::kernels::train;

namespace {

/// A model in one stage and one microbatch of it.
class Whole {
 public:
  explicit Whole(const models::Scenario& scenario)
      : shape_(gpt_shape(scenario, 0)),
        device_(kernels::cpu_backend()),
        tables_(make_tables(device_, shape_)),
        layout_(stage_layout(shape_, models::make_plan(scenario).stages.at(0))),
        text_(std::string(bundled_text()), "text", shape_.sequence, 1),
        values_(initial_values(layout_, 1)) {
    // Larger weights: their effect on the loss stands out from rounding.
    for (const Parameter& p : layout_.parameters)
      for (std::int64_t i = 0; i < p.count(); ++i)
        if (p.deviation > 0) values_[static_cast<std::size_t>(p.offset + i)] *= 6;
  }
  const StageLayout& layout() const { return layout_; }
  const std::vector<float>& values() const { return values_; }

  double loss(const std::vector<float>& values, std::vector<float>* gradient = nullptr) {
    const Context context{device_, shape_, tables_, nullptr};
    Block weights = device_.take(layout_.count);
    device_.to_device(weights.floats(), values);
    Text::Batch batch = text_.batch(0, shape_.sequences);
    StageRecord record =
        begin_record(context, layout_, {{}, std::move(batch.tokens), std::move(batch.targets)});
    const Values at{layout_, weights.floats()};
    stage_forward(context, layout_, at, record);
    const double loss = mean_loss(context, record);
    if (gradient == nullptr) return loss;
    const Block sums = device_.zeros(layout_.count);
    stage_backward(context, layout_, at, record, {}, 1.0 / static_cast<double>(shape_.rows()));
    stage_weight_gradients(context, layout_, record, {layout_, sums.floats()});
    *gradient = device_.to_host(sums.floats());
    return loss;
  }

 private:
  GptShape shape_;
  Device device_;
  Tables tables_;
  StageLayout layout_;
  Text text_;
  std::vector<float> values_;
};

/// d loss / d t of values + t * direction at 0, of fourth order in `step`.
double slope(Whole& model, const std::vector<float>& direction, double step) {
  const auto at = [&](double t) {
    std::vector<float> moved = model.values();
    for (std::size_t i = 0; i < moved.size(); ++i)
      moved[i] = static_cast<float>(moved[i] + t * direction[i]);
    return model.loss(moved);
  };
  return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

/// Along its gradient, each parameter changes the loss by the gradient's length.
void check_slopes(const models::Scenario& scenario) {
  Whole model(scenario);
  std::vector<float> gradient;
  model.loss(model.values(), &gradient);
  for (const Parameter& p : model.layout().parameters) {
    const auto first = static_cast<std::size_t>(p.offset),
               end = first + static_cast<std::size_t>(p.count());
    double squares = 0;
    for (std::size_t i = first; i < end; ++i) squares += double{gradient[i]} * double{gradient[i]};
    const double length = std::sqrt(squares);
    INFO(p.name << " gradient of length " << length);
    if (p.name.find("key.bias") != std::string::npos) {
      CHECK(length < 1e-6);  // softmax does not see what all scores of a query share
      continue;
    }
    REQUIRE(length > 1e-5);
    std::vector<float> direction(gradient.size(), 0.0F);
    for (std::size_t i = first; i < end; ++i)
      direction[i] = static_cast<float>(gradient[i] / length);
    const double step = std::min(0.05, 0.02 / length);
    CHECK(slope(model, direction, step) == Approx(length).epsilon(0.02).margin(2e-5));
  }
}

const char* const kLlamaLike =
    "{model: {hidden: 32, layers: 2, heads: 4, kv_heads: 2, ffn: 48, vocab: 256, positions: 0,"
    " activation: swiglu, norm: rmsnorm, tied: true}}";

}  // namespace

TEST_CASE("gradients are the slopes of the loss", "[train]") {
  check_slopes(small_scenario("{model: {layers: 2}, batch: {micro: 2}}"));
  check_slopes(small_scenario("{model: {layers: 1, embedding_norm: true, tied: true}}"));
  check_slopes(small_scenario(kLlamaLike));
}

TEST_CASE("a small GPT learns the bundled text", "[train]") {
  for (const char* const optimizer : {"adamw", "sgd"}) {
    const models::Scenario scenario = small_scenario(
        std::string(
            "{model: {layers: 2}, batch: {global: 4, micro: 4, sequence: 16}, optimizer: ") +
        optimizer + "}");
    const Trained trained = train(scenario, kernels::self_communicator(), 120);
    CHECK(trained.losses.front() == Approx(std::log(256)).margin(0.2));
    double last = 0;
    for (std::size_t i = 100; i < 120; ++i) last += trained.losses[i] / 20;
    INFO(optimizer);
    CHECK(last < 3.4);  // letters, but for their frequencies
  }
}
