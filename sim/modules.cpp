// SPDX-License-Identifier: Apache-2.0
#include "sim/modules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "sim/placement.hpp"

namespace paceline::sim {
namespace {

using models::Module;
using models::Plan;
using models::Scenario;
using models::Turns;

/// What happens at an end of a module, in its own microbatches.
struct Visit {
  bool forward = true;
  int microbatch = 0;
};
using Visits = std::vector<Visit>;

/// How a module that feeds another goes along with it: forwards come `ahead` of those the consumer
/// asks for, a backward when the gradients of all its samples have come.
Visits follow(const Visits& consumer, int consumer_span, int span, int count, int ahead,
              bool backward) {
  Visits visits;
  int forwards = 0;
  std::vector<int> came(static_cast<std::size_t>(count), 0);
  const auto forward_up_to = [&](int wanted) {
    for (; forwards < std::min(wanted, count); ++forwards) visits.push_back({true, forwards});
  };
  for (const Visit& v : consumer) {
    const int begin = v.microbatch * consumer_span, end = begin + consumer_span;
    if (v.forward) {
      forward_up_to((end + span - 1) / span + ahead);
      continue;
    }
    for (int m = begin / span; backward && m * span < end; ++m) {
      const int covered = std::min(end, (m + 1) * span) - std::max(begin, m * span);
      int& sum = came[static_cast<std::size_t>(m)];
      if ((sum += covered) == span) visits.push_back({false, m});
    }
  }
  forward_up_to(count);
  return visits;
}

class Composer {
 public:
  Composer(const Scenario& scenario, const Plan& plan, Program main)
      : s_(scenario),
        plan_(plan),
        places_(models::module_places(scenario, plan)),
        visits_(scenario.modules.size()),
        done_(scenario.modules.size(), false) {
    for (std::size_t i = 0; i < s_.modules.size(); ++i)
      if (s_.modules[i].feeds < 0) main_ = i;
    program_ = std::move(main);
  }

  Program run() {
    lay_main();
    make_nodes();
    for (std::size_t i = 0; i < s_.modules.size(); ++i) visit(i);
    for (const std::size_t guest : guests()) join_host(guest);
    return std::move(program_);
  }

 private:
  /// Modules that share ranks: those that take turns first, from the farthest to the nearest, then
  /// those that run before and after all of it, the farthest outermost.
  std::vector<std::size_t> guests() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < s_.modules.size(); ++i)
      if (s_.modules[i].host >= 0) found.push_back(i);
    const auto key = [&](std::size_t i) {
      const bool whole = s_.modules[i].turns == Turns::WholeBatch;
      int depth = 0;
      for (int at = s_.modules[i].feeds; at >= 0;
           at = s_.modules[static_cast<std::size_t>(at)].feeds)
        ++depth;
      return std::pair(whole, whole ? depth : -depth);
    };
    std::stable_sort(found.begin(), found.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return found;
  }
  int span(std::size_t module) const {
    return plan_.microbatches / plan_.modules[module].microbatches;
  }
  /// Its microbatches in one of its reader: the pool holds whole ones of the larger.
  int ratio(std::size_t module) const {
    const auto reader = static_cast<std::size_t>(s_.modules[module].feeds);
    return std::max(1, span(reader) / span(module));
  }
  int ahead(std::size_t module) const { return s_.modules[module].ahead * ratio(module); }
  bool goes_back(std::size_t module) const { return s_.modules[module].backward; }
  std::size_t pool(std::size_t module) const {
    const int host = s_.modules[module].host;
    return host < 0 ? module : static_cast<std::size_t>(host);
  }

  void fail(const std::string& problem, const std::string& hint) const {
    throw base::Error(models::where(s_, "schedule.name"), problem, hint);
  }

  std::uint8_t pass_named(std::string_view name) const {
    const auto found = std::find_if(program_.passes.begin(), program_.passes.end(),
                                    [&](const Pass& p) { return p.name == name; });
    if (found == program_.passes.end())
      fail("the schedule has no pass " + std::string(name), "1f1b");
    return static_cast<std::uint8_t>(found - program_.passes.begin());
  }
  bool has_pass(std::string_view name) const {
    return std::any_of(program_.passes.begin(), program_.passes.end(),
                       [&](const Pass& p) { return p.name == name; });
  }

  /// The main module's program at its place among the ranks and stages of all.
  void lay_main() {
    const bool beside = has_pass("S") || has_pass("T") || has_pass("U") || has_pass("N");
    if (beside || program_.pooled || program_.skips || program_.slices > 1 ||
        placement_of(program_).ranks.front().size() != 1)
      fail(
          "does not go with several modules: the first stage of the main one would not stand on "
          "one rank and take whole microbatches",
          "1f1b, gpipe, interleaved-1f1b, zb-h1 and the like");
    const auto shift = static_cast<std::int16_t>(places_[main_].first_stage);
    if (!has_pass("BW")) {
      const auto forward = pass_named("F");
      program_.passes.push_back({"BW", Direction::Up, {forward}, {forward}});
    }
    for (Pass& pass : program_.passes) {
      if (pass.name == "F" || pass.name == "BW" || pass.name == "B" || pass.name == "W") continue;
      pass.first_stage = static_cast<std::int16_t>(pass.first_stage + shift);
      if (pass.last_stage >= 0)
        pass.last_stage = static_cast<std::int16_t>(pass.last_stage + shift);
    }
    std::vector<std::vector<Action>> order(plan_.pipeline.size());
    for (std::size_t r = 0; r < program_.order.size(); ++r) {
      for (Action& action : program_.order[r])
        action.stage = static_cast<std::int16_t>(action.stage + shift);
      order[static_cast<std::size_t>(places_[main_].ranks[r])] = std::move(program_.order[r]);
    }
    program_.order = std::move(order);
    program_.stages = static_cast<int>(plan_.stages.size());
    program_.microbatches = plan_.microbatches;
    forward_ = pass_named("F");
    backward_ = pass_named("BW");
    note_main(shift);
  }

  /// What the first stage of the main module does, in order.
  void note_main(int first_stage) {
    for (const auto& order : program_.order) {
      for (const Action& a : order) {
        if (a.stage != first_stage) continue;
        const Direction direction = program_.passes[a.pass].direction;
        if (a.pass == forward_) visits_[main_].push_back({true, a.microbatch});
        if (direction == Direction::Up) visits_[main_].push_back({false, a.microbatch});
      }
    }
    done_[main_] = true;
  }

  void make_nodes() {
    program_.nodes.resize(plan_.stages.size());
    for (std::size_t i = 0; i < s_.modules.size(); ++i) {
      const int stages = static_cast<int>(plan_.modules[i].stages.size()) * copies(i);
      for (int k = 0; k < stages; ++k) {
        StageNode& node = program_.nodes[static_cast<std::size_t>(places_[i].first_stage + k)];
        node.span = span(i);
        node.backward = goes_back(i);
        if (copies(i) == 1 && k > 0)
          node.inputs.push_back(static_cast<std::int16_t>(places_[i].first_stage + k - 1));
      }
    }
    for (std::size_t i = 0; i < s_.modules.size(); ++i)
      if (s_.modules[i].feeds >= 0) link(i, static_cast<std::size_t>(s_.modules[i].feeds));
  }
  int copies(std::size_t module) const {
    return s_.modules[module].host < 0 ? 1 : static_cast<int>(places_[module].ranks.size());
  }
  /// Last stages of the one to first stages of the other; copies on the same ranks to each other.
  void link(std::size_t from, std::size_t to) {
    const int last =
        places_[from].first_stage + static_cast<int>(plan_.modules[from].stages.size()) - 1;
    const bool beside = copies(from) == copies(to) && copies(from) > 1;
    for (int k = 0; k < copies(from); ++k) {
      for (int j = 0; j < copies(to); ++j) {
        if (beside && j != k) continue;
        program_.nodes[static_cast<std::size_t>(places_[to].first_stage + j)].inputs.push_back(
            static_cast<std::int16_t>(last + k));
      }
      StageNode& node = program_.nodes[static_cast<std::size_t>(last + k)];
      if (pool(from) != pool(to)) node.ahead = ahead(from);
    }
  }

  /// In which order the module's stages go forward and back.
  const Visits& visit(std::size_t module) {
    if (done_[module]) return visits_[module];
    done_[module] = true;
    const Module& m = s_.modules[module];
    const auto consumer = static_cast<std::size_t>(m.feeds);
    const int count = plan_.modules[module].microbatches;
    if (m.host >= 0 && m.turns == Turns::WholeBatch) {
      for (int k = 0; k < count; ++k) visits_[module].push_back({true, k});
      for (int k = count; goes_back(module) && k-- > 0;) visits_[module].push_back({false, k});
      return visits_[module];
    }
    const bool apart = pool(module) != pool(consumer);
    Visits visits = follow(visit(consumer), span(consumer), span(module), count,
                           apart ? ahead(module) - ratio(module) : 0, goes_back(module));
    if (m.host < 0) lay(module, visits);
    return visits_[module] = visits;
  }

  /// Of a module with ranks of its own, last stage first: each stage keeps one microbatch ahead of
  /// the next. `visits` ends as those of its first stage.
  void lay(std::size_t module, Visits& visits) {
    const int stages = static_cast<int>(plan_.modules[module].stages.size());
    for (int stage = stages; stage-- > 0;) {
      const int rank = places_[module].ranks[static_cast<std::size_t>(stage)];
      for (const Visit& v : visits)
        program_.order[static_cast<std::size_t>(rank)].push_back(
            action(places_[module].first_stage + stage, v));
      if (stage > 0)
        visits = follow(visits, 1, 1, plan_.modules[module].microbatches, 1, goes_back(module));
    }
  }
  Action action(int stage, const Visit& v) const {
    Action a;
    a.pass = v.forward ? forward_ : backward_;
    a.stage = static_cast<std::int16_t>(stage);
    a.microbatch = v.microbatch;
    return a;
  }

  /// Whether the guest runs before its host in forward direction.
  bool feeds_host(std::size_t module) const {
    for (int at = static_cast<int>(pool(module)); at >= 0;
         at = s_.modules[static_cast<std::size_t>(at)].feeds)
      if (static_cast<std::size_t>(at) == module) return false;
    return true;
  }

  void join_host(std::size_t module) {
    const Module& m = s_.modules[module];
    for (std::size_t copy = 0; copy < places_[module].ranks.size(); ++copy) {
      auto& order = program_.order[static_cast<std::size_t>(places_[module].ranks[copy])];
      const int stage = places_[module].first_stage + static_cast<int>(copy);
      order = m.turns == Turns::WholeBatch ? around(order, module, stage)
                                           : between(order, module, stage);
    }
  }

  std::vector<Action> around(const std::vector<Action>& order, std::size_t module,
                             int stage) const {
    std::vector<Action> all;
    const auto append = [&](bool forward) {
      for (const Visit& v : visits_[module])
        if (v.forward == forward) all.push_back(action(stage, v));
    };
    append(true);
    all.insert(all.end(), order.begin(), order.end());
    append(false);
    return all;
  }

  /// The host's order with the guest's passes at the earliest places where what they need is there.
  std::vector<Action> between(const std::vector<Action>& order, std::size_t module,
                              int stage) const {
    const std::size_t host = pool(module);
    const int count = plan_.modules[module].microbatches;
    // The guest as seen from the host: it asks for forwards like a consumer, or it is one.
    Visits of_host;
    std::vector<std::size_t> at;  // of each visit, in the order
    const int host_stage = places_[host].first_stage;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int held = order[i].stage;
      if (held < host_stage ||
          plan_.stages[static_cast<std::size_t>(held)].mesh != static_cast<int>(host))
        continue;
      const bool forward = order[i].pass == forward_;
      if (!forward && program_.passes[order[i].pass].direction != Direction::Up) continue;
      if (held != first_held(order, host)) continue;
      of_host.push_back({forward, order[i].microbatch});
      at.push_back(i);
    }
    std::vector<std::vector<Action>> before(order.size() + 1);
    std::vector<int> came(static_cast<std::size_t>(count), 0), taken = came;
    const int own = span(module), other = span(host);
    const bool feeds = feeds_host(module);
    for (std::size_t k = 0; k < of_host.size(); ++k) {
      const int begin = of_host[k].microbatch * other, end = begin + other;
      for (int m = begin / own; m * own < end; ++m) {
        const int covered = std::min(end, (m + 1) * own) - std::max(begin, m * own);
        const auto cell = static_cast<std::size_t>(m);
        int& sum = of_host[k].forward ? taken[cell] : came[cell];
        const bool begins = sum == 0;
        sum += covered;
        const bool forward = of_host[k].forward;
        if (!forward && !goes_back(module)) continue;
        // Upstream: forward with the first of the host's, back after the last. Downstream: after
        // the last forward, back before the first.
        const bool early = feeds == forward;
        if (early ? begins : sum == own)
          before[at[k] + (early ? 0 : 1)].push_back(action(stage, {forward, m}));
      }
    }
    std::vector<Action> all;
    for (std::size_t i = 0; i <= order.size(); ++i) {
      const bool inside = i > 0 && i < order.size() && order[i - 1].fused;
      if (inside && !before[i].empty())
        fail("fuses actions where module " + s_.modules[module].name + " takes its turns",
             "turns: whole-batch, or another schedule");
      all.insert(all.end(), before[i].begin(), before[i].end());
      if (i < order.size()) all.push_back(order[i]);
    }
    return all;
  }
  /// The first stage of the host on this rank.
  int first_held(const std::vector<Action>& order, std::size_t host) const {
    int first = program_.stages;
    for (const Action& a : order)
      if (plan_.stages[static_cast<std::size_t>(a.stage)].mesh == static_cast<int>(host))
        first = std::min<int>(first, a.stage);
    return first;
  }

  const Scenario& s_;
  const Plan& plan_;
  std::vector<models::ModulePlace> places_;
  std::vector<Visits> visits_;  ///< by module, of its first stage
  std::vector<bool> done_;
  Program program_;
  std::size_t main_ = 0;
  std::uint8_t forward_ = 0, backward_ = 0;
};

}  // namespace

Program compose_modules(const Scenario& scenario, const Plan& plan, Program main) {
  if (scenario.modules.size() == 1) return main;
  return Composer(scenario, plan, std::move(main)).run();
}

}  // namespace paceline::sim
