// SPDX-License-Identifier: Apache-2.0
// Layouts of several ranks against one process. Every rank trains the whole model by itself first.
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/train/small_gpt.hpp"

using namespace paceline;
using namespace paceline::tests;

namespace {

const kernels::Communicator& world() {
  static const kernels::Communicator all = kernels::world_communicator();
  return all;
}

constexpr int kSteps = 3;
constexpr double kRounding = 2e-4;  // of a gradient's root mean square, after three steps

std::string both(const std::string& model, const std::string& layout) {
  return "{" + model + (model.empty() || layout.empty() ? "" : ", ") + layout + "}";
}

/// `layout` against one process that goes through the same microbatches.
void check_layout(const std::string& model, const std::string& layout) {
  INFO(model << " " << layout);
  const Trained whole =
      train(small_scenario(both(model, "")), kernels::self_communicator(), kSteps);
  const Trained part = train(small_scenario(both(model, layout)), world(), kSteps);
  const double gradient = worst_gradient(part, whole), loss = worst_loss(part, whole),
               weight = worst_weight(part, whole);
  if (world().rank() == 0)
    std::printf("%-78s gradients %.1e losses %.1e weights %.1e\n", (layout + " " + model).c_str(),
                gradient, loss, weight);
  CHECK(gradient < kRounding);
  CHECK(loss < 1e-5);
  CHECK(weight < kRounding);
  CHECK(part.losses.size() == kSteps);
}

const std::string kLlama =
    "model: {hidden: 32, layers: 4, heads: 4, kv_heads: 2, ffn: 48, vocab: 256, positions: 0,"
    " activation: swiglu, norm: rmsnorm, tied: true}";
// Softmax does not change when all keys move alike: the gradient of a key's bias is zero, and what
// is left of it is rounding, which Adam makes a step of. Where sums are grouped differently,
// weights are compared without biases, and with them losses.
const std::string kTied = "model: {tied: true, bias: false}", kPlain = "model: {bias: false}";

void check_losses(const std::string& layout) {
  const Trained whole = train(small_scenario("{}"), kernels::self_communicator(), kSteps);
  const Trained part = train(small_scenario("{" + layout + "}"), world(), kSteps);
  CHECK(worst_loss(part, whole) < 1e-5);
}

}  // namespace

TEST_CASE("pipelines of two ranks train as one process does", "[ranks-2]") {
  check_layout("", "parallel: {pp: 2}, schedule: {name: gpipe}");
  check_layout("", "parallel: {pp: 2}, schedule: {name: 1f1b}");
  check_layout("", "parallel: {pp: 2}, schedule: {name: interleaved-1f1b, chunks: 2}");
  check_layout("", "parallel: {pp: 2}, schedule: {name: zb-h1}");
  check_layout("", "parallel: {pp: 2}, schedule: {name: zb-v}");
  check_layout(kLlama, "parallel: {pp: 2}, schedule: {name: zb-h1}");
  check_layout(kTied, "parallel: {pp: 2}, schedule: {name: 1f1b}, recompute: full");
}

TEST_CASE("two copies of every stage train as one process does", "[ranks-2]") {
  check_layout(kTied, "parallel: {pp: 2}, schedule: {name: chimera}");
}

TEST_CASE("data and tensor parallelism train as one process does", "[ranks-2]") {
  for (const char* layout : {"parallel: {dp: 2}", "parallel: {tp: 2}"}) {
    check_layout(kPlain, layout);
    check_losses(layout);
  }
  check_layout(kLlama, "parallel: {dp: 2}");
  check_layout(kLlama, "parallel: {tp: 2}");
}

TEST_CASE("layouts of two kinds of parallelism train as one process does", "[ranks-4]") {
  check_layout(kPlain, "parallel: {pp: 2, dp: 2}, schedule: {name: 1f1b}");
  check_layout(kTied, "parallel: {pp: 2, dp: 2}, schedule: {name: zb-h1}");
  check_layout(kLlama, "parallel: {pp: 2, tp: 2}, schedule: {name: interleaved-1f1b, chunks: 2}");
  check_layout(kLlama, "parallel: {tp: 2, dp: 2, order: dp-tp-cp-ep-pp}");
}

TEST_CASE("a pipeline of four ranks trains as one process does", "[ranks-4]") {
  check_layout("", "parallel: {pp: 4}, schedule: {name: zb-h1}");
  check_layout(kTied, "parallel: {pp: 4}, schedule: {name: chimera}");
}

TEST_CASE("PipeDream-2BW applies every gradient one update late, exactly", "[ranks-2]") {
  const std::string model = GENERATE(as<std::string>(), kPlain, kLlama);
  const models::Scenario one = small_scenario(both(model, "batch: {global: 4}"));
  const Trained late = train_late(one, 4, 1);
  const Trained part =
      train(small_scenario(both(model,
                                "parallel: {pp: 2}, "
                                "schedule: {name: pipedream-2bw, update_every: 4}")),
            world(), 4);
  CHECK(part.losses.size() == 4);
  // Gradients of a tied table are summed over the ends of the pipeline, in another order.
  const double rounding = model == kPlain ? 0 : kRounding;
  CHECK(worst_gradient(part, late) <= rounding);
  CHECK(worst_weight(part, late) <= rounding);
  CHECK(worst_loss(part, late) < (model == kPlain ? 1e-12 : 1e-6));
  // And one update late is something else than in time.
  CHECK(worst_gradient(part, train_late(one, 4, 0)) > 1e-2);
}

TEST_CASE("PipeDream-2BW in two replicas is one update late", "[ranks-4]") {
  const Trained late =
      train_late(small_scenario("{model: {bias: false}, batch: {global: 8}}"), 4, 1);
  const Trained part = train(small_scenario("{model: {bias: false}, parallel: {pp: 2, dp: 2}, "
                                            "schedule: {name: pipedream-2bw, update_every: 4}}"),
                             world(), 4);
  CHECK(worst_gradient(part, late) < kRounding);
  CHECK(worst_loss(part, late) < 1e-5);
}

TEST_CASE("a layout trains to the same bits again", "[ranks-2]") {
  const models::Scenario scenario = small_scenario("{parallel: {pp: 2}, schedule: {name: zb-h1}}");
  const Trained first = train(scenario, world(), 2), again = train(scenario, world(), 2);
  CHECK(worst_weight(again, first) == 0);
  CHECK(worst_weight(train(scenario, world(), 2, 2), first) > 0.1);
}
