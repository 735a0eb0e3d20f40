// SPDX-License-Identifier: Apache-2.0
#include "sim/documents.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// A small model on one node, with `parallel` and `batch` as given.
models::Scenario packed_scenario(const std::string& parallel, const std::string& batch,
                                 const std::string& more = "") {
  return tests::scenario_of(
      "model: {hidden: 2048, layers: 4, heads: 16, kv_heads: 8, ffn: 5632, activation: swiglu, "
      "vocab: 32000}\ncluster: {preset: dgx-h100, nodes: 1}\nparallel: " +
      parallel + "\nbatch: " + batch + "\nattention: flash-2\n" + more);
}

Result result_of(const models::Scenario& s) { return predict(s).result; }

constexpr const char* kMethods[] = {
    "ring", "all-gather",      "ulysses",           "usp", "double-ring", "distflash",
    "hcms", "document-gather", "attention-servers", "hsap"};

}  // namespace

TEST_CASE("one document that fills its window is a sequence, bit for bit") {
  for (const std::string parallel : {"{tp: 1, dp: 2}", "{tp: 2, cp: 2, dp: 2}"}) {
    const Result plain =
        result_of(packed_scenario(parallel, "{global: 8, micro: 2, sequence: 8192}"));
    const Result packed = result_of(packed_scenario(
        parallel,
        "{global: 8, micro: 2, sequence: 8192, documents: {kind: fixed, lengths: [8192]}}"));
    INFO(parallel);
    CHECK(packed.step_time == plain.step_time);
    CHECK(packed.breakdown == plain.breakdown);
    CHECK(packed.mfu == plain.mfu);
    REQUIRE(packed.distribution);
    CHECK(packed.distribution->repetitions == 1);
  }
}

TEST_CASE("without context parallelism every method is the same") {
  const std::string batch = "{global: 4, sequence: 4096}";
  const double plain = result_of(packed_scenario("{dp: 2}", batch)).step_time;
  for (const std::string method : kMethods) {
    INFO(method);
    CHECK(result_of(packed_scenario("{dp: 2, context: " + method + "}", batch)).step_time == plain);
  }
}

TEST_CASE("shorter documents take less attention, and replicas wait for the longest") {
  const auto batch = [](const std::string& lengths) {
    return "{global: 4, sequence: 65536, documents: {kind: fixed, lengths: " + lengths + "}}";
  };
  const std::string parallel = "{tp: 4, dp: 2}";
  const double full = result_of(packed_scenario(parallel, batch("[65536]"))).step_time;
  const Result halves = result_of(packed_scenario(parallel, batch("[32768]")));
  CHECK(halves.step_time < full);
  // Of two replicas one has a whole document in each microbatch, the other four quarters.
  const Result uneven =
      result_of(packed_scenario(parallel, batch("[65536, 16384, 16384, 16384, 16384]")));
  CHECK(uneven.step_time == Approx(full).epsilon(1e-3));
  CHECK(uneven.mfu < halves.mfu * 1.2);
}

TEST_CASE("attention servers even out the replicas that others wait for") {
  const std::string batch =
      "{global: 4, sequence: 65536, documents: {kind: fixed, lengths: [65536, 16384, 16384, "
      "16384, 16384]}}";
  const double waits = result_of(packed_scenario("{tp: 4, dp: 2}", batch)).step_time;
  const double served =
      result_of(packed_scenario("{tp: 4, dp: 2, context: attention-servers}", batch)).step_time;
  CHECK(served < waits);
}

TEST_CASE("sampled steps are a distribution that does not depend on threads") {
  const models::Scenario s = packed_scenario(
      "{tp: 2, cp: 2, dp: 2}",
      "{global: 8, sequence: 16384, documents: {kind: lognormal, median: 900, sigma: 1.4, "
      "packing: split, seed: 7, steps: 40}}");
  const Result one = predict(s, {.threads = 1}).result;
  const Result two = predict(s, {.threads = 2}).result;
  REQUIRE(one.distribution);
  CHECK(one.distribution->mean.value == two.distribution->mean.value);
  CHECK(one.distribution->p99.value > one.distribution->p50.value);
  CHECK(one.step_time == Approx(one.distribution->mean.value));
  double sum = 0;
  for (const double part : one.breakdown) sum += part;
  CHECK(sum == Approx(one.step_time));
}

TEST_CASE("contiguous rings wait for the last rank, ulysses does not") {
  const auto seconds = [](const std::string& context) {
    return result_of(packed_scenario("{cp: 8, dp: 1, context: " + context + "}",
                                     "{global: 1, sequence: 131072}"))
        .step_time;
  };
  const double zigzag = seconds("ring");
  CHECK(seconds("{method: ring, order: contiguous}") > 1.3 * zigzag);
  CHECK(seconds("{method: ring, order: striped}") == Approx(zigzag).epsilon(0.02));
  CHECK(seconds("ulysses") < 1.3 * zigzag);
  CHECK(seconds("{method: usp, inner: 1}") == Approx(zigzag));
  CHECK(seconds("{method: usp, inner: 8}") == Approx(seconds("ulysses")));
}
