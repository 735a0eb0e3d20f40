// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/rank_plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "sim/placement.hpp"
#include "sim/verify.hpp"

namespace paceline::kernels::train {
namespace {

using base::Error;
using sim::Action;
using sim::Program;

constexpr std::array<std::pair<std::string_view, Pass>, 7> kPasses{{{"F", Pass::Forward},
                                                                    {"B", Pass::InputGradient},
                                                                    {"W", Pass::WeightGradient},
                                                                    {"BW", Pass::Backward},
                                                                    {"R", Pass::Recompute},
                                                                    {"U", Pass::Update},
                                                                    {"N", Pass::NormBarrier}}};

std::optional<Pass> pass_of(const Program& program, const Action& action) {
  for (const auto& [name, pass] : kPasses)
    if (program.passes[action.pass].name == name) return pass;
  return std::nullopt;
}

Pass known_pass(const Program& program, const Action& action) {
  const std::optional<Pass> pass = pass_of(program, action);
  PACELINE_CHECK(pass.has_value());
  return *pass;
}

bool makes_gradient(Pass pass) { return pass == Pass::WeightGradient || pass == Pass::Backward; }
bool goes_up(Pass pass) { return pass == Pass::InputGradient || pass == Pass::Backward; }
bool of_microbatch(Pass pass) { return pass != Pass::Update && pass != Pass::NormBarrier; }

/// By microbatch and stage.
using Key = std::pair<int, int>;
Key key_of(const Action& action) { return {action.stage, action.microbatch}; }

void check_passes(const Program& program, const std::string& where) {
  const auto refuse_if = [&](bool wrong, const std::string& what) {
    if (wrong)
      throw Error(where, what + " cannot be trained here",
                  "gpipe, 1f1b, interleaved-1f1b, zb-h1 and pipedream-2bw can");
  };
  refuse_if(program.slices > 1, "slices of sequences");
  refuse_if(program.pooled, "weights in host memory");
  refuse_if(program.skips, "microbatches that leave out stages");
  bool gradients = false;
  for (const auto& order : program.order) {
    for (const Action& action : order) {
      const std::optional<Pass> pass = pass_of(program, action);
      refuse_if(!pass, "the pass " + program.passes[action.pass].name);
      gradients = gradients || makes_gradient(*pass);
    }
  }
  refuse_if(!gradients, "a schedule without backward passes");
}

/// Every microbatch stays on one rank while it is in a stage.
void check_homes(const Program& program, const std::string& where) {
  std::map<Key, std::size_t> home;
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    for (const Action& action : program.order[rank]) {
      if (!of_microbatch(known_pass(program, action))) continue;
      if (home.try_emplace(key_of(action), rank).first->second != rank)
        throw Error(where, to_text(action, program) + " runs on another rank than its forward",
                    "what forward keeps has to stay on its rank to be trained here");
    }
  }
}

void check_updates(const Program& program, const std::string& where) {
  std::vector<int> count(static_cast<std::size_t>(program.stages));
  for (const auto& order : program.order)
    for (const Action& action : order)
      if (known_pass(program, action) == Pass::Update)
        ++count[static_cast<std::size_t>(action.stage)];
  const auto [least, most] = std::minmax_element(count.begin(), count.end());
  if (*most == 0) return;
  if (*least != *most)
    throw Error(where,
                "has " + std::to_string(*least) + " updates of one stage and " +
                    std::to_string(*most) + " of another",
                "as many of every stage");
  for (const std::vector<int>& ranks : sim::placement_of(program).ranks)
    if (ranks.size() > 1)
      throw Error(where, "updates of stages that several ranks hold cannot be trained here",
                  "one copy of every stage, or a schedule that ends with the update");
}

/// What the weights have been through at each action of one rank.
class Versions {
 public:
  Versions(const Program& program, const std::vector<Action>& order, bool later_run)
      : program_(program), oldest_(later_run ? -1 : 0) {
    std::map<int, int> done;
    for (const Action& action : order) {
      const Pass pass = known_pass(program, action);
      const int version = pass == Pass::Update ? done[action.stage]++ : done[action.stage];
      has_updates_ = has_updates_ || pass == Pass::Update;
      if (pass == Pass::Forward) forward_[key_of(action)] = version;
      if (!makes_gradient(pass)) continue;
      update_[key_of(action)] = version;
      ++together_[{action.stage, version}];
    }
  }

  /// The version an action reads, in the order of the rank.
  int read(const Action& action, Pass pass) {
    int& done = done_[action.stage];
    if (pass == Pass::Update) return done++;
    if (!of_microbatch(pass)) return done;
    const bool forward = pass == Pass::Forward;
    if (program_.weights == sim::Weights::Latest) return done;
    const int there = forward_.at(key_of(action));
    if (program_.weights == sim::Weights::Stash) return forward ? done : there;
    const int delayed = std::max(oldest_, update_.at(key_of(action)) - 1);
    if (delayed > there)
      throw Error("schedule", to_text(action, program_) + " reads version " +
                                  std::to_string(delayed) + " of its weights before it is there");
    return delayed;
  }
  int update(const Action& action) const { return update_.at(key_of(action)); }
  /// Where the run ends with the update, all microbatches, whoever holds a copy of the stage.
  int together(const Action& action) const {
    if (!has_updates_) return program_.microbatches;
    return together_.at({action.stage, update(action)});
  }

 private:
  const Program& program_;
  int oldest_;
  bool has_updates_ = false;
  std::map<int, int> done_;              ///< updates by stage
  std::map<Key, int> forward_, update_;  ///< updates before a microbatch's forward, gradient
  std::map<std::pair<int, int>, int> together_;  ///< microbatches by (stage, update)
};

/// A message between ranks: positions of the actions that send and receive it.
struct Route {
  int from, to;
  std::int32_t sent_at, received_at;
};

/// All messages, by sender and in the order they are sent; those of a rank to itself too.
std::vector<Route> routes_of(const Program& program) {
  const sim::ActionIndex index(program);
  std::vector<Route> routes;
  for (int to = 0; to < static_cast<int>(program.order.size()); ++to) {
    const auto& order = program.order[static_cast<std::size_t>(to)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Pass pass = known_pass(program, order[i]);
      if (pass != Pass::Forward && !goes_up(pass)) continue;
      const std::optional<Action> source = index.source(order[i]);
      if (!source) continue;
      const sim::Position at = index.position(*source);
      routes.push_back({at.rank, to, at.index, static_cast<std::int32_t>(i)});
    }
  }
  std::sort(routes.begin(), routes.end(), [](const Route& a, const Route& b) {
    return std::pair(a.from, a.sent_at) < std::pair(b.from, b.sent_at);
  });
  return routes;
}

void add_messages(const Program& program, int rank, RankPlan& plan) {
  std::map<int, int> local;  // number of messages to oneself
  for (const Route& route : routes_of(program)) {
    const auto at = [&](std::int32_t i) -> Step& {
      return plan.steps[static_cast<std::size_t>(i)];
    };
    if (route.from == rank) at(route.sent_at).to = route.to;
    if (route.from == rank && route.to != rank) ++plan.outgoing[route.to];
    if (route.to != rank) continue;
    Step& step = at(route.received_at);
    step.from = route.from;
    step.number = route.from == rank ? local[rank]++ : plan.incoming[route.from]++;
  }
}

void mark_last(RankPlan& plan) {
  std::map<Key, std::size_t> last;
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (of_microbatch(plan.steps[i].pass))
      last[{plan.steps[i].stage, plan.steps[i].microbatch}] = i;
  for (const auto& [key, i] : last) plan.steps[i].last = true;
}

}  // namespace

void check_trainable(const Program& program, const std::string& where) {
  check_passes(program, where);
  sim::verify(program);
  check_homes(program, where);
  check_updates(program, where);
}

std::vector<std::pair<int, int>> message_pairs(const Program& program) {
  std::set<std::pair<int, int>> pairs;
  for (const Route& route : routes_of(program))
    if (route.from != route.to) pairs.emplace(route.from, route.to);
  return {pairs.begin(), pairs.end()};
}

RankPlan plan_rank(const Program& program, int rank, bool later_run) {
  RankPlan plan;
  const auto& order = program.order[static_cast<std::size_t>(rank)];
  Versions versions(program, order, later_run);
  std::map<int, int> updates;
  for (const Action& action : order) {
    Step step;
    step.pass = known_pass(program, action);
    step.stage = action.stage;
    step.microbatch = action.microbatch;
    step.version = versions.read(action, step.pass);
    if (of_microbatch(step.pass)) {
      step.update = versions.update(action);
      step.together = versions.together(action);
      if (step.pass != Pass::WeightGradient) ++plan.readers[{step.stage, step.version}];
    }
    plan.recomputes = plan.recomputes || step.pass == Pass::Recompute;
    if (step.pass == Pass::Update) ++updates[step.stage];
    plan.steps.push_back(step);
  }
  plan.updates = !updates.empty();
  if (plan.updates) plan.update_count = updates.begin()->second;
  plan.stages = sim::stages_of(program, rank);
  add_messages(program, rank, plan);
  mark_last(plan);
  return plan;
}

}  // namespace paceline::kernels::train
