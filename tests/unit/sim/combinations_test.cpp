// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

/// Features that meet: each pair works, or is refused in one line that says what goes.
using namespace paceline;
using namespace paceline::sim;
using tests::scenario_of;

namespace {

/// A mixture of experts fed by a vision encoder with ranks of its own.
std::string experts_in_modules(const std::string& more = "") {
  return "model:\n  modules:\n"
         "    - name: language\n      model: {preset: qwen3-30b-a3b, layers: 4}\n"
         "      parallel: {pp: 2, dp: 4, ep: 4, sequence_parallel: true}\n"
         "    - name: vision\n      feeds: language\n      tokens: 256\n      sends: 64\n"
         "      width: 2048\n      parallel: {dp: 8}\n"
         "      model: {hidden: 512, layers: 4, heads: 8, ffn: 2048, causal: false}\n"
         "cluster: {preset: dgx-h100, nodes: 2}\n"
         "batch: {global: 32, micro: 1, sequence: 4096}\n" +
         more;
}

/// Experts in two directions of a pipeline.
std::string paired_experts(const std::string& more = "") {
  return "model: {preset: qwen3-30b-a3b, layers: 8}\n"
         "cluster: {preset: dgx-h100, nodes: 2}\n"
         "parallel: {pp: 4, ep: 4, sequence_parallel: true}\n"
         "schedule: dualpipe\n"
         "batch: {global: 64, micro: 1, sequence: 4096}\n" +
         more;
}

double bytes_sent(const Prediction& p, Stream stream) {
  return p.result.traffic_bytes[static_cast<std::size_t>(stream)];
}

void check_refused(const models::Scenario& s, const PredictOptions& options,
                   const std::string& words) {
  CHECK_THROWS_WITH(predict(s, options), Catch::Contains(words));
}

}  // namespace

TEST_CASE("experts of a module are exchanged beside its other microbatches", "[combinations]") {
  const Prediction plain = predict(scenario_of(experts_in_modules()));
  const Prediction paired = predict(scenario_of(experts_in_modules("moe: {overlap: 1f1b}\n")));
  const auto pairs = [](const Prediction& p) {
    std::ptrdiff_t count = 0;
    for (const auto& order : p.program.order)
      count += std::count_if(order.begin(), order.end(), [](const Action& a) { return a.fused; });
    return count;
  };
  CHECK(pairs(plain) == 0);
  CHECK(pairs(paired) > 0);
  CHECK(bytes_sent(paired, Stream::Ep) == Approx(bytes_sent(plain, Stream::Ep)));
}

TEST_CASE("codecs act on the gradients and messages of modules", "[combinations]") {
  const Prediction plain = predict(scenario_of(experts_in_modules()));
  const Prediction data =
      predict(scenario_of(experts_in_modules("compression: [{group: dp, codec: int8}]\n")));
  CHECK(bytes_sent(data, Stream::Dp) < bytes_sent(plain, Stream::Dp));
  CHECK(bytes_sent(data, Stream::PpDown) == bytes_sent(plain, Stream::PpDown));
  const Prediction stages =
      predict(scenario_of(experts_in_modules("compression: [{group: pp, codec: int8}]\n")));
  CHECK(bytes_sent(stages, Stream::PpDown) < bytes_sent(plain, Stream::PpDown));
  CHECK(bytes_sent(stages, Stream::Dp) == bytes_sent(plain, Stream::Dp));
}

TEST_CASE("engines that share links take pairs of a schedule, not modules or pairs of exchanges",
          "[combinations]") {
  const PredictOptions simgrid{.engine = Engine::Simgrid};
  check_refused(scenario_of(paired_experts("moe: {overlap: 1f1b}\n")), simgrid, "overlap: none");
  check_refused(scenario_of(experts_in_modules()), simgrid, "--engine reference");
  check_refused(scenario_of("model: {modules: [{name: all, first_rank: 8, model: {hidden: 1024, "
                            "layers: 8, heads: 16, vocab: 32000}, parallel: {tp: 2, dp: 4}}]}\n"
                            "cluster: {preset: dgx-h100, nodes: 2}\n"
                            "batch: {global: 32, micro: 1, sequence: 512}\n"),
                simgrid, "first_rank: 0");
}

TEST_CASE("experts over several ranks are predicted, not executed", "[combinations]") {
  const PredictOptions kernels{.kernels = true};
  const std::string model =
      "model: {hidden: 64, layers: 2, heads: 4, vocab: 256, experts: {count: 4, per_token: 2, "
      "width: 32}}\ncluster: {preset: dgx-h100, nodes: 1}\nprecision: fp32\nattention: eager\n"
      "batch: {global: 2, micro: 1, sequence: 32}\n";
  check_refused(scenario_of(model + "parallel: {dp: 2, ep: 2}\n"), kernels, "ep: 1 and etp: 1");
}
