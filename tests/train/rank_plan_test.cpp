// SPDX-License-Identifier: Apache-2.0
// What a rank makes of a Program.
#include "kernels/train/rank_plan.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <set>

#include "base/error.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;
using namespace paceline::kernels::train;

namespace {

sim::Program program_of(std::string_view schedule, int ranks, int chunks, int microbatches,
                        int update_every = 0) {
  sim::PipelineShape shape{ranks, chunks, microbatches};
  shape.options.update_every = update_every;
  return sim::find_schedule(schedule, "test").build(shape);
}

/// Runs the ranks' plans with messages in order per pair of ranks: every message has to be the one
/// that the receiver expects, and all have to end.
void rehearse(const sim::Program& program) {
  using Payload = std::tuple<bool, int, int>;  // forward, stage, microbatch of the receiver
  const auto ranks = static_cast<int>(program.order.size());
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < ranks; ++rank) plans.push_back(plan_rank(program, rank, false));
  std::map<std::pair<int, int>, std::vector<Payload>> sent;
  std::vector<std::size_t> next(plans.size(), 0);
  const auto step = [&](int rank) {
    RankPlan& plan = plans[static_cast<std::size_t>(rank)];
    std::size_t& at = next[static_cast<std::size_t>(rank)];
    if (at == plan.steps.size()) return false;
    const Step& s = plan.steps[at];
    const bool forward = s.pass == Pass::Forward;
    if (s.from >= 0) {
      const auto& there = sent[{s.from, rank}];
      if (static_cast<std::size_t>(s.number) >= there.size()) return false;
      CHECK(there[static_cast<std::size_t>(s.number)] == Payload(forward, s.stage, s.microbatch));
    }
    if (s.to >= 0)
      sent[{rank, s.to}].emplace_back(forward, s.stage + (forward ? 1 : -1), s.microbatch);
    ++at;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < ranks; ++rank)
      while (step(rank)) moved = true;
  }
  for (std::size_t rank = 0; rank < plans.size(); ++rank)
    CHECK(next[rank] == plans[rank].steps.size());
  std::set<std::pair<int, int>> pairs;
  for (const auto& [pair, messages] : sent) {
    const auto [from, to] = pair;
    if (from == to || messages.empty()) continue;
    pairs.insert(pair);
    CHECK(plans[static_cast<std::size_t>(to)].incoming.at(from) == std::ssize(messages));
  }
  const auto wanted = message_pairs(program);
  CHECK(std::set(wanted.begin(), wanted.end()) == pairs);
}

std::string refusal(const sim::Program& program) {
  try {
    check_trainable(program, "test.yaml: schedule");
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every message of a schedule that can be trained meets its receiver", "[train]") {
  std::set<std::string_view> trained;
  for (const sim::Schedule& schedule : sim::schedules()) {
    const models::ScheduleTraits* traits = models::schedule_traits(schedule.name);
    const sim::Program program = program_of(schedule.name, 4, traits->chunks, 8);
    INFO(schedule.name);
    if (const std::string why = refusal(program); !why.empty()) {
      CHECK(why.find("test.yaml: schedule: ") == 0);
      continue;
    }
    trained.insert(schedule.name);
    rehearse(program);
  }
  for (const char* name :
       {"gpipe", "1f1b", "interleaved-1f1b", "breadth-first", "zb-h1", "zb-h2", "zb-v", "v-half",
        "pipedream", "pipedream-2bw", "paci", "chimera", "dualpipe", "hanayo", "2bp"}) {
    INFO(name);
    CHECK(trained.count(name) == 1);
  }
}

TEST_CASE("schedules that cannot be trained are refused in one line", "[train]") {
  CHECK(refusal(program_of("forward-only", 2, 1, 4)).find("without backward passes") !=
        std::string::npos);
  CHECK(refusal(program_of("seq1f1b", 2, 1, 4)).find("slices") != std::string::npos);
  CHECK(refusal(program_of("roundpipe", 2, 2, 4)).find("host memory") != std::string::npos);
  CHECK(refusal(program_of("vocab-1", 2, 1, 4)).find("the pass ") != std::string::npos);
  for (const char* name : {"forward-only", "seq1f1b"})
    CHECK(refusal(program_of(name, 2, 1, 4)).find('\n') == std::string::npos);
}

TEST_CASE("a microbatch of PipeDream-2BW reads the version before its update's", "[train]") {
  const sim::Program program = program_of("pipedream-2bw", 2, 1, 16, 4);
  for (int rank = 0; rank < 2; ++rank) {
    for (const Step& step : plan_rank(program, rank, false).steps) {
      if (step.pass == Pass::Update) continue;
      CHECK(step.update == step.microbatch / 4);
      CHECK(step.version == std::max(0, step.microbatch / 4 - 1));
      CHECK(step.together == 4);
    }
    // Once more: the last version of the run before is there.
    for (const Step& step : plan_rank(program, rank, true).steps)
      if (step.pass != Pass::Update) CHECK(step.version == step.microbatch / 4 - 1);
  }
}

TEST_CASE("PipeDream keeps a microbatch's version from forward to backward", "[train]") {
  const sim::Program program = program_of("pipedream", 4, 1, 16);
  std::map<int, int> read;
  for (const Step& step : plan_rank(program, 0, false).steps) {
    if (step.pass == Pass::Forward) read[step.microbatch] = step.version;
    if (step.pass == Pass::Backward) CHECK(step.version == read.at(step.microbatch));
  }
  CHECK(read.at(15) == 12);  // three more are on their way
}

TEST_CASE("tied ends that update together never wait for ever in a pipeline", "[train]") {
  check_tied_updates(program_of("pipedream-2bw", 4, 1, 16, 4), "test");
  check_tied_updates(program_of("pipedream", 4, 1, 16), "test");
  // One rank that holds both ends cannot update them one after the other.
  sim::Program ring = program_of("interleaved-1f1b", 1, 2, 2);
  sim::Pass update;
  update.name = "U";
  update.sparse = true;
  ring.passes.push_back(update);
  for (const std::int16_t stage : {std::int16_t{0}, std::int16_t{1}}) {
    sim::Action action;
    action.pass = static_cast<std::uint8_t>(ring.passes.size() - 1);
    action.stage = stage;
    action.microbatch = 1;
    ring.order[0].push_back(action);
  }
  CHECK_THROWS_AS(check_tied_updates(ring, "test"), base::Error);
}
