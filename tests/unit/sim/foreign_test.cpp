// SPDX-License-Identifier: Apache-2.0
#include "sim/foreign.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/verify.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

Prediction predicted(const std::string& layout, const std::string& foreign,
                     const PredictOptions& options = {}) {
  return predict(::tests::small_gpt(layout + (foreign.empty() ? "" : "\nforeign: " + foreign)),
                 options);
}

/// Actions X of the Program, and the seconds they take in the timeline.
struct Extra {
  int count = 0;
  double seconds = 0;
};
Extra extra_of(const Prediction& p) {
  Extra extra;
  for (TaskId t = 0; t < p.graph.tasks.size(); ++t) {
    const Task& task = p.graph.tasks[t];
    if (p.graph.segments[task.segment].name != "foreign work") continue;
    ++extra.count;
    extra.seconds += p.timeline.finish[t] - p.timeline.start[t];
  }
  return extra;
}

void check_unchanged(const Prediction& with, const Prediction& without) {
  CHECK(with.timeline.makespan == Approx(without.timeline.makespan).epsilon(1e-9));
  CHECK(with.result.step_time == without.result.step_time);
  CHECK(with.result.mfu == without.result.mfu);
  CHECK(with.result.bubble_makespan == without.result.bubble_makespan);
  CHECK(with.result.breakdown == without.result.breakdown);
  REQUIRE(with.result.memory.size() == without.result.memory.size());
  for (std::size_t i = 0; i < with.result.memory.size(); ++i)
    CHECK(with.result.memory[i].peak_bytes == without.result.memory[i].peak_bytes);
}

}  // namespace

TEST_CASE("foreign work in idle time leaves the step as it is", "[sim]") {
  for (const char* layout :
       {"parallel: {pp: 4, dp: 2, zero: 1}",
        "parallel: {pp: 4, dp: 2, zero: 3}\nschedule: {name: breadth-first, chunks: 2}",
        "parallel: {pp: 4, tp: 2}\nstack: {name: generic, p2p_blocking: true}\nschedule: zb-h1",
        "parallel: {pp: 4, dp: 2}\nschedule: chimera",
        "parallel: {pp: 4, dp: 2}\nstack: {name: generic, dp_overlap: bucketed}\nschedule: gpipe",
        "parallel: {pp: 4, dp: 2}\noffload: {activations: 0.5, to: nvme, bandwidth: 2 GB/s}"}) {
    CAPTURE(layout);
    const Prediction without = predicted(layout, "");
    CHECK_FALSE(without.result.foreign);
    const Prediction with = predicted(layout, "{pieces: 60, seconds: 0.3 ms}");
    REQUIRE(with.result.foreign);
    CHECK_NOTHROW(verify(with.program));
    check_unchanged(with, without);
    const ForeignDone& done = *with.result.foreign;
    CHECK(done.pieces == 60);
    CHECK(done.done > 0);
    const Extra extra = extra_of(with);
    CHECK(extra.count == done.done);
    CHECK(extra.seconds == Approx(done.done * done.piece_seconds));
  }
}

TEST_CASE("no more foreign work is done than time is idle", "[sim]") {
  const Prediction without = predicted("parallel: {pp: 4, dp: 2}", "");
  double busy = 0;
  for (const Task& task : without.graph.tasks) {
    if (task.stream == Stream::Compute) busy += task.seconds;
  }
  const double idle = 4 * without.timeline.makespan - busy;
  const Prediction full = predicted("parallel: {pp: 4, dp: 2}", "{pieces: 64, seconds: 20 ms}");
  CHECK(full.result.foreign->done < 64);
  const Prediction fine = predicted("parallel: {pp: 4, dp: 2}", "{pieces: 64, seconds: 0.5 ms}");
  const Extra extra = extra_of(fine);
  CHECK(extra.seconds <= idle);
  const Prediction none = predicted("parallel: {pp: 4, dp: 2}", "{pieces: 4, seconds: 1 h}");
  CHECK(none.result.foreign->done == 0);
}

TEST_CASE("foreign work fits between transfers that share links", "[sim]") {
  if (!simgrid_available()) return;
  PredictOptions shared;
  shared.engine = Engine::Simgrid;
  const char* layout = "cluster: {preset: dgx-a100, nodes: 2}\nparallel: {pp: 4, tp: 2, dp: 2}";
  const Prediction without = predicted(layout, "", shared);
  const Prediction with = predicted(layout, "{pieces: 20, seconds: 0.2 ms}", shared);
  CHECK(with.result.foreign->done > 0);
  check_unchanged(with, without);
}

TEST_CASE("foreign work is refused where idle time has no place in the order", "[sim]") {
  for (const char* layout : {"parallel: {pp: 4}\nschedule: pipedream-2bw",
                             "parallel: {pp: 4}\nschedule: {name: 1f1b, dispatch: ready}",
                             "parallel: {pp: 4}\noptimizer: {name: adamw, norm_barrier: false}"}) {
    CAPTURE(layout);
    CHECK_NOTHROW(predicted(layout, ""));
    try {
      predicted(layout, "{pieces: 4, seconds: 1 ms}");
      FAIL("accepted");
    } catch (const base::Error& error) {
      CHECK(std::string(error.what()).find("foreign") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(predicted("parallel: {pp: 4}", "{pieces: 1000000, seconds: 1 ns}"), base::Error);
}
