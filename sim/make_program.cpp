// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "sim/foreign.hpp"
#include "sim/lower/stage_times.hpp"
#include "sim/modules.hpp"
#include "sim/offload.hpp"
#include "sim/overlap_batches.hpp"
#include "sim/predict.hpp"
#include "sim/program_file.hpp"
#include "sim/repeat.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/steady.hpp"
#include "sim/updates.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

/// A file made for another scenario: what would have to change here.
void check_sizes(const Program& program, const models::Scenario& scenario, int microbatches) {
  const int ranks = static_cast<int>(program.order.size()), pp = scenario.parallel.pp;
  const auto fail = [&](const std::string& problem, const std::string& hint) {
    throw base::Error(models::where(scenario, "schedule.file"),
                      scenario.schedule.file + " " + problem, hint);
  };
  const auto count = [](int n, const std::string& what, const char* plural = "s") {
    return std::to_string(n) + " " + what + (n == 1 ? "" : plural);
  };
  if (ranks != pp)
    fail("has " + count(ranks, "rank") + ", parallel.pp is " + std::to_string(pp),
         "set parallel.pp to " + std::to_string(ranks) + ", or give the file " + count(pp, "rank"));
  const int stages = pp * scenario.schedule.chunks;
  if (program.stages != stages) {
    const bool whole = program.stages % pp == 0;
    fail("has " + count(program.stages, "stage") + ", " + count(pp, "rank") + " with " +
             count(scenario.schedule.chunks, "chunk") + " each have " + std::to_string(stages),
         whole ? "set schedule.chunks to " + std::to_string(program.stages / pp)
               : "a file for " + count(pp, "rank") + " has a multiple of " + std::to_string(pp) +
                     " stages");
  }
  if (program.microbatches == microbatches) return;
  const std::int64_t per_microbatch =
      scenario.batch.micro * static_cast<std::int64_t>(scenario.parallel.dp);
  fail("has " + count(program.microbatches, "microbatch", "es") + ", the batch " +
           std::to_string(microbatches),
       "set batch.global to " + std::to_string(program.microbatches * per_microbatch));
}

Program read_program(const models::Scenario& scenario, const models::Plan& plan,
                     std::vector<std::string>* notes) {
  ProgramFile file = parse_program_file(scenario.schedule.file_text, scenario.schedule.file);
  check_sizes(file.program, scenario, plan.microbatches);
  verify(file.program, &file.places);
  if (notes != nullptr && file.passed_over > 0)
    notes->push_back(scenario.schedule.file + ": " + std::to_string(file.passed_over) +
                     " actions that send, receive, gather or scatter are passed over: they follow "
                     "from the order and the scenario");
  return std::move(file.program);
}

/// Updates far apart need a long piece of the run before it repeats.
void check_piece(const models::Scenario& scenario, const PipelineShape& shape, int piece) {
  constexpr std::int64_t kMostPasses = 10'000'000;  // some seconds
  const std::int64_t stages = shape.stages();
  if (piece <= kMostPasses / stages) return;
  throw base::Error(models::where(scenario, "schedule.update_every"),
                    std::to_string(piece) + " microbatches of " + std::to_string(stages) +
                        " stages until the run repeats are too many to simulate",
                    "update_every at most " + std::to_string(kMostPasses / stages / 8));
}

void check_slices(const models::Scenario& scenario, const Program& program) {
  constexpr std::int64_t kMost = 4096;  // each has costs of its own
  if (program.slices <= std::min(scenario.batch.sequence, kMost)) return;
  throw base::Error(models::where(scenario, "schedule.slices"),
                    std::to_string(program.slices) + " slices of a sequence of " +
                        std::to_string(scenario.batch.sequence) + " tokens",
                    "at most one slice per token, and " + std::to_string(kMost));
}

/// A schedule with a pass R recomputes whole stages by itself.
void check_recompute(const models::Scenario& scenario, const Program& program) {
  if (scenario.recompute == models::Recompute::None && !scenario.recompute_parts.any()) return;
  for (const Pass& pass : program.passes) {
    if (pass.name != "R") continue;
    throw base::Error(models::where(scenario, "recompute"),
                      "the schedule recomputes before each backward itself", "recompute: none");
  }
}

/// Schedules with pairs of their own (dualpipe) keep them.
void pair_passes(const models::Scenario& scenario, Program& program) {
  const auto paired = [](const std::vector<Action>& order) {
    return std::any_of(order.begin(), order.end(), [](const Action& a) { return a.fused; });
  };
  if (std::any_of(program.order.begin(), program.order.end(), paired)) return;
  if (overlap_batches(program)) return;
  throw base::Error(
      models::where(scenario, "moe.overlap"),
      "1f1b pairs forwards with backwards, which " + scenario.schedule.name + " does not alternate",
      "schedule 1f1b, interleaved-1f1b, dualpipe or dualpipev");
}

/// The key a schedule's complaint is about: an option it names, if the scenario sets it, or else
/// the schedule.
std::string blamed_key(const models::Scenario& scenario, std::string_view complaint) {
  const models::ScheduleOptions& o = scenario.schedule.options;
  const struct {
    std::string_view key, word;
    bool set;
  } options[] = {{"schedule.memory_limit", "memory_limit", o.memory_limit > 0},
                 {"schedule.group", "group", o.group > 0},
                 {"schedule.directions", "directions", o.directions > 0},
                 {"schedule.update_every", "microbatches per update", o.update_every > 0},
                 {"schedule.pools", "pools", o.pools > 0}};
  for (const auto& option : options) {
    if (option.set && complaint.find(option.word) != std::string_view::npos)
      return std::string(option.key);
  }
  return "schedule.name";
}

bool asynchronous(const models::Scenario& scenario) {
  const models::ScheduleTraits* traits = models::schedule_traits(scenario.schedule.name);
  return scenario.schedule.file.empty() && traits != nullptr && traits->asynchronous;
}

}  // namespace

bool repeats(const models::Scenario& scenario) {
  if (asynchronous(scenario)) return true;
  return scenario.schedule.file.empty() && !scenario.optimizer.norm_barrier;
}

namespace {

/// The schedule orders the main module; the others go along.
Program module_program(const models::Scenario& scenario, const models::Plan& plan,
                       std::vector<std::string>* notes) {
  std::size_t main = 0;
  while (scenario.modules[main].feeds >= 0) ++main;
  const models::Scenario& view = *scenario.modules[main].view;
  const bool several = scenario.modules.size() > 1;
  const auto refuse = [&](const char* key, const std::string& what, const char* hint) {
    throw base::Error(models::where(scenario, key), what + " does not go with several modules",
                      hint);
  };
  if (several && repeats(view)) refuse("schedule.name", "a step that never flushes", "1f1b");
  if (several && scenario.schedule.dispatch.policy == models::Dispatch::Ready)
    refuse("schedule.dispatch", "ready dispatch", "dispatch: fixed");
  if (several && scenario.offload.share > 0)
    refuse("offload", "offloading of activations", "leave it out");
  if (several && scenario.foreign.pieces > 0)
    refuse("foreign", "foreign work", "say it as a module with costs");
  if (several && scenario.outer) refuse("outer", "exchange now and then", "leave it out");
  Program program = compose_modules(scenario, plan, make_program(view, plan.modules[main], notes));
  if (several) verify(program);
  return program;
}

}  // namespace

Program make_program(const models::Scenario& scenario, const models::Plan& plan,
                     std::vector<std::string>* notes) {
  if (!scenario.modules.empty()) return module_program(scenario, plan, notes);
  check_foreign(scenario);
  if (!scenario.schedule.file.empty()) {
    Program program = read_program(scenario, plan, notes);
    check_slices(scenario, program);
    check_recompute(scenario, program);
    if (scenario.offload.share > 0) add_offload(program, scenario.offload.share);
    return program;
  }
  const std::string where = models::where(scenario, "schedule.name");
  const Schedule& schedule = find_schedule(scenario.schedule.name, where);
  PipelineShape shape{scenario.parallel.pp, scenario.schedule.chunks, plan.microbatches};
  shape.options = scenario.schedule.options;
  const int window = std::max(shape.options.update_every, shape.ranks);
  const int piece = steady_microbatches(shape.ranks, shape.microbatches, window);
  if (repeats(scenario)) check_piece(scenario, shape, piece);
  if (asynchronous(scenario)) shape.microbatches = piece;
  if (schedule.uses_times) shape.times = stage_times(scenario, plan);
  Program program;
  try {
    program = schedule.build(shape);
  } catch (const base::Error& error) {
    throw base::Error(models::where(scenario, blamed_key(scenario, error.what())), error.what());
  }
  if (scenario.moe.overlap) pair_passes(scenario, program);
  check_slices(scenario, program);
  check_recompute(scenario, program);
  if (scenario.offload.share > 0) add_offload(program, scenario.offload.share);
  if (asynchronous(scenario) || !repeats(scenario)) return program;
  append_updates(program, StepStart::Local);
  return repeated(program, piece / shape.microbatches);
}

}  // namespace paceline::sim
