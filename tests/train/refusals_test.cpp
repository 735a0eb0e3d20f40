// SPDX-License-Identifier: Apache-2.0
// What cannot be trained, and what goes wrong while it is, in one line each.
#include <catch2/catch.hpp>

#include "kernels/train/train.hpp"
#include "tests/train/small_gpt.hpp"

using namespace paceline;
using namespace paceline::tests;

namespace {

using kernels::train::TrainOptions;

TrainOptions options_of(const models::Scenario& scenario) {
  TrainOptions options;
  options.steps = 3;
  options.optimizer = kernels::train::optimizer_of(scenario);
  return options;
}

std::string message_of(const models::Scenario& scenario, const TrainOptions& options) {
  try {
    const models::Plan plan = models::make_plan(scenario);
    kernels::train::train_gpt(scenario, plan,
                              kernels::train::training_program(scenario, plan, options.steps),
                              kernels::self_communicator(), kernels::cpu_backend(), options);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

/// Of a scenario with `more`.
std::string refusal(const std::string& more) {
  const models::Scenario scenario = small_scenario(more);
  return message_of(scenario, options_of(scenario));
}

struct HasAll : Catch::MatcherBase<std::string> {
  std::vector<std::string> parts;
  explicit HasAll(std::vector<std::string> wanted) : parts(std::move(wanted)) {}
  bool match(const std::string& text) const override {
    for (const std::string& part : parts)
      if (text.find(part) == std::string::npos) return false;
    return text.find('\n') == std::string::npos;
  }
  std::string describe() const override {
    std::string all = "is one line with";
    for (const std::string& part : parts) all += " '" + part + "'";
    return all;
  }
};

}  // namespace

TEST_CASE("models and layouts that cannot be trained are refused in one line", "[train]") {
  CHECK_THAT(refusal("{model: {vocab: 255}}"),
             HasAll({"test.yaml:", "255 entries", "at least 256"}));
  CHECK_THAT(refusal("{model: {positions: 8}}"),
             HasAll({"test.yaml:", "8 positions", "16 tokens"}));
  CHECK_THAT(refusal("{model: {activation: relu}}"),
             HasAll({"test.yaml:", "neither GELU nor SwiGLU"}));
  CHECK_THAT(refusal("{model: {parallel: true}}"), HasAll({"test.yaml:", "attention, then MLP"}));
  CHECK_THAT(refusal("{model: {head_dim: 12}}"),
             HasAll({"test.yaml:", "12 elements", "multiples of 8"}));
  CHECK_THAT(refusal("{parallel: {cp: 2}}"), HasAll({"context parallelism", "cp: 1"}));
  CHECK_THAT(refusal("{recompute: selective}"), HasAll({"test.yaml:", "none or full"}));
  CHECK_THAT(refusal("{parallel: {dp: 2, zero: 1}}"), HasAll({"test.yaml:", "zero: 0"}));
  CHECK_THAT(refusal("{parallel: {dp: 2}}"), HasAll({"2 ranks", "1 is here", "--ranks 2"}));
  CHECK_THAT(refusal("{schedule: forward-only}"), HasAll({"test.yaml:", "without backward"}));
}

TEST_CASE("a text shorter than a sequence is refused in one line", "[train]") {
  const models::Scenario scenario = small_scenario("");
  TrainOptions options = options_of(scenario);
  options.text = "0123456789abcdef";
  options.text_name = "short.txt";
  CHECK_THAT(message_of(scenario, options), HasAll({"short.txt: has 16 bytes", "are 17"}));
  options.text += "!";
  CHECK(message_of(scenario, options).empty());
}

TEST_CASE("a model larger than the memory is refused in one line", "[train]") {
  CHECK_THAT(refusal("{model: {hidden: 65536, layers: 96, heads: 512, ffn: 262144}}"),
             HasAll({"test.yaml:", "needs about", "GiB"}));
}

TEST_CASE("a loss that is not a number stops the training in one line", "[train]") {
  const models::Scenario scenario = small_scenario("");
  TrainOptions options = options_of(scenario);
  options.optimizer.rate = 1e30;
  CHECK_THAT(message_of(scenario, options), HasAll({"training: the loss of step 2 is", "smaller"}));
  const models::Scenario late =
      small_scenario("{schedule: {name: pipedream-2bw, update_every: 8}}");
  CHECK_THAT(message_of(late, options), HasAll({"training: the loss of step 3 is", "smaller"}));
}
