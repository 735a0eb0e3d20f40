// SPDX-License-Identifier: Apache-2.0
#include "sim/search/branch.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "sim/lower/stage_times.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim {
namespace {

using models::Scenario;

/// A schedule and the stages a rank has under it.
struct Shape {
  std::string_view schedule;  ///< into schedules()
  int chunks = 1;
};

/// Schedules with stages of their own choice come once; interleaving over one stage is 1F1B, and on
/// one rank all orders are alike.
std::vector<Shape> shapes(const SearchSpace& space, int pp) {
  std::vector<Shape> out;
  const auto known = [](const std::string& name) { return find_schedule(name, "").name; };
  if (pp == 1) return {{known(space.schedule.front()), 1}};
  for (const std::string& given : space.schedule) {
    const std::string_view name = known(given);
    const models::ScheduleTraits& traits = *models::schedule_traits(name);
    if ((traits.takes & models::kTakesChunks) == 0) {
      out.push_back({name, traits.chunks});
      continue;
    }
    for (const int chunks : space.chunks)
      if (chunks > 1 || space.schedule.size() == 1) out.push_back({name, chunks});
  }
  return out;
}

double ways(const SearchSpace& space) {
  return static_cast<double>(space.balanced.size()) * static_cast<double>(space.recompute.size()) *
         static_cast<double>(space.zero.size()) * static_cast<double>(space.offload.size()) *
         static_cast<double>(space.optimizer.size());
}

std::optional<models::Plan> plan_of(const Scenario& s) {
  try {
    return models::make_plan(s);
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

/// Stage facts by what they depend on.
class StageTable {
 public:
  const StageFacts* get(const Scenario& s, const models::Plan& plan, const models::Stage& stage) {
    const int first = s.model.kinds.size() > 1 ? stage.first_layer : 0;
    const std::array<int, 8> key{first,
                                 stage.layers,
                                 stage.embedding ? 1 : 0,
                                 stage.head ? 1 : 0,
                                 s.parallel.zero,
                                 static_cast<int>(s.recompute),
                                 s.recompute_layers,
                                 s.optimizer.offload.host() ? 1 : 0};
    const auto [found, fresh] = known_.try_emplace(key);
    if (fresh) found->second = stage_facts(s, plan, stage);
    return &found->second;
  }

 private:
  std::map<std::array<int, 8>, StageFacts> known_;
};

/// Bounds of a branch, shape by shape.
class BranchBounder {
 public:
  BranchBounder(Scenario& s, const SearchSpace& space, const Branch& branch, FactsCache& cache)
      : s_(s), space_(space), layout_(branch.layout), cache_(cache) {}

  BranchBounds run() {
    // Groups of shards are those of the ways that shard.
    layout_.zero = *std::max_element(space_.zero.begin(), space_.zero.end());
    for (const Shape& shape : shapes(space_, layout_.pp)) {
      layout_.schedule = shape.schedule;
      layout_.chunks = shape.chunks;
      for (const bool balanced : space_.balanced) add_cut(balanced);
    }
    return std::move(out_);
  }

 private:
  void add_cut(bool balanced) {
    layout_.balanced = balanced;
    layout_.recompute = {};
    apply(layout_, s_);
    int cut = -1;
    const int stages = layout_.pp * layout_.chunks;
    if (balanced) {
      if (stages < 2 || stages > static_cast<int>(s_.model.layers.size())) return;
      cut = static_cast<int>(out_.cuts.size());
      const Scenario& s = s_;
      s_.parallel.stage_layers = balanced_layers(costs(), s.model, stages);
    }
    const std::optional<models::Plan> plan = plan_of(s_);
    if (!plan) return;
    if (balanced) {
      if (same_as_even(*plan)) return;
      out_.cuts.push_back(s_.parallel.stage_layers);
    }
    const std::vector<int> layers = s_.parallel.stage_layers;
    add_ways(*plan, cut, layers);
  }

  /// The balanced cut may be the stack's: no point of its own.
  bool same_as_even(const models::Plan& plan) {
    const std::vector<int> layers = std::move(s_.parallel.stage_layers);
    s_.parallel.stage_layers.clear();
    const std::optional<models::Plan> even = plan_of(s_);
    s_.parallel.stage_layers = layers;
    if (!even) return false;
    return std::equal(
        plan.stages.begin(), plan.stages.end(), even->stages.begin(), even->stages.end(),
        [](const models::Stage& a, const models::Stage& b) { return a.layers == b.layers; });
  }

  void add_ways(const models::Plan& plan, int cut, const std::vector<int>& layers) {
    const int microbatches = facts_microbatches(s_, plan.microbatches);
    for (const double offload : space_.offload) {
      s_.offload.share = offload;
      const std::shared_ptr<const OrderFacts> facts = cache_.get(s_, microbatches);
      if (facts == nullptr) continue;
      for (const RecomputeWay& way : space_.recompute) {
        for (const int zero : space_.zero) {
          for (const models::OptimizerDevice device : space_.optimizer) {
            layout_.recompute = way;
            layout_.zero = zero;
            layout_.offload = offload;
            layout_.optimizer = device;
            apply(layout_, s_);
            s_.parallel.stage_layers = layers;
            out_.points.push_back({layout_, bound(plan, *facts), cut});
          }
        }
      }
    }
  }

  Bound bound(const models::Plan& plan, const OrderFacts& facts) {
    if (!has_bounds(s_)) return {};
    const LayerCosts& layer = costs();
    std::optional<std::vector<double>>& data = data_[static_cast<std::size_t>(s_.parallel.zero)];
    if (!data) data = layer_data_seconds(*context_);
    BoundParts parts{&*context_, &plan, &layer, &facts, &*data, {}};
    parts.stages.reserve(plan.stages.size());
    for (const models::Stage& stage : plan.stages)
      parts.stages.push_back(stages_.get(s_, plan, stage));
    return lower_bound(parts);
  }

  /// Of the scenario as it is laid out now. Selective recomputation runs attention again in every
  /// layer; all else of a branch costs the same.
  const LayerCosts& costs() {
    if (!context_) {
      context_plan_ = plan_of(s_).value_or(models::Plan{});
      if (context_plan_.pipeline.empty()) {  // this cut does not divide; the branch does
        Scenario plain = s_;
        plain.schedule.chunks = 1;
        plain.parallel.stage_layers.clear();
        context_plan_ = models::make_plan(plain);
      }
      context_ = cost_context(s_, context_plan_, context_plan_.pipeline.front().device);
    }
    std::optional<LayerCosts>& costs = costs_[s_.recompute == models::Recompute::Selective ? 1 : 0];
    if (!costs) costs = layer_costs(*context_);
    return *costs;
  }

  Scenario& s_;
  const SearchSpace& space_;
  Layout layout_;
  FactsCache& cache_;
  BranchBounds out_;
  models::Plan context_plan_;
  std::optional<CostContext> context_;
  std::array<std::optional<LayerCosts>, 2> costs_;
  std::array<std::optional<std::vector<double>>, 4> data_;  ///< by ZeRO
  StageTable stages_;
};

}  // namespace

std::vector<Branch> make_branches(const Scenario& s, const SearchSpace& space) {
  std::vector<Branch> out;
  Branch b;
  b.layout.schedule = "1f1b";
  const auto for_each = [](const auto& values, const auto& f) {
    for (const auto& value : values) f(value);
  };
  const bool experts = models::has_experts(s.model);
  for_each(space.devices, [&](int devices) {
    for_each(space.order, [&](const std::string& order) {
      for_each(space.tp, [&](int tp) {
        for_each(space.cp, [&](int cp) {
          for_each(space.pp, [&](int pp) {
            const std::int64_t replica = std::int64_t{tp} * cp * pp;
            if (replica > devices || devices % replica != 0) return;
            b.layout.devices = devices;
            b.layout.order = order;
            b.layout.tp = tp;
            b.layout.cp = cp;
            b.layout.pp = pp;
            for_each(experts ? space.ep : std::vector<int>{1}, [&](int ep) {
              for_each(experts ? space.etp : std::vector<int>{1}, [&](int etp) {
                b.layout.ep = ep;
                b.layout.etp = etp;
                for (const bool sequence_parallel : space.sequence_parallel) {
                  if (sequence_parallel && tp == 1 && space.sequence_parallel.size() > 1) continue;
                  b.layout.sequence_parallel = sequence_parallel;
                  for (const std::int64_t micro : space.micro) {
                    b.layout.micro = micro;
                    out.push_back(b);
                  }
                }
              });
            });
          });
        });
      });
    });
  });
  return out;
}

double branch_points(const SearchSpace& space, const Branch& branch) {
  return static_cast<double>(shapes(space, branch.layout.pp).size()) * ways(space);
}

double least_branch_seconds(Scenario& s, const SearchSpace& space, const Branch& branch) {
  Layout layout = branch.layout;
  layout.chunks = 1;
  layout.zero = space.zero.front();
  layout.optimizer = space.optimizer.front();
  apply(layout, s);
  const std::optional<models::Plan> plan = plan_of(s);
  if (!plan) return std::numeric_limits<double>::infinity();
  if (!has_bounds(s)) return 0;
  const CostContext context = cost_context(s, *plan, plan->pipeline.front().device);
  const LayerCosts costs = layer_costs(context);
  PassSeconds all = costs.embedding;
  all += costs.head;
  for (const auto kind : s.model.layers) all += costs.layer[static_cast<std::size_t>(kind)][0];
  const double microbatch = std::min(all.both(false), all.both(true));
  return microbatch * plan->microbatches / s.parallel.pp;
}

std::shared_ptr<const OrderFacts> FactsCache::get(const Scenario& s, int microbatches) {
  const std::tuple key(s.schedule.name, s.parallel.pp, s.schedule.chunks, microbatches,
                       s.offload.share);
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
  }
  std::shared_ptr<const OrderFacts> facts;
  try {
    facts = std::make_shared<const OrderFacts>(order_facts(s, microbatches));
  } catch (const base::Error&) {
  }
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(key, facts).first->second;
}

double ExactOrders::least_bytes(const Scenario& s) {
  if (!models::schedule_traits(s.schedule.name)->uses_times || !has_bounds(s)) return 0;
  try {
    const models::Plan plan = models::make_plan(s);
    if (facts_microbatches(s, plan.microbatches) != plan.microbatches) return 0;
    const Key key(s.schedule.name, s.schedule.chunks, s.parallel.stage_layers, s.recompute,
                  s.recompute_layers, s.offload.share);
    std::shared_ptr<const OrderFacts>& facts = known_[key];
    if (facts == nullptr) {
      const StageTimes times = stage_times(s, plan);
      facts = std::make_shared<const OrderFacts>(order_facts(s, plan.microbatches, &times));
    }
    if (!facts->known) return 0;
    CostContext context;  // memory asks it for the scenario only
    context.scenario = &s;
    BoundParts parts{&context, &plan, nullptr, facts.get(), nullptr, {}};
    StageTable stages;
    for (const models::Stage& stage : plan.stages)
      parts.stages.push_back(stages.get(s, plan, stage));
    return sim::least_bytes(parts);
  } catch (const base::Error&) {
    return 0;
  }
}

const std::vector<int>& BranchBounds::cut_of(const BoundedPoint& point) const {
  static const std::vector<int> kStack;
  return point.cut < 0 ? kStack : cuts[static_cast<std::size_t>(point.cut)];
}

BranchBounds bound_branch(Scenario& s, const SearchSpace& space, const Branch& branch,
                          FactsCache& cache) {
  return BranchBounder(s, space, branch, cache).run();
}

}  // namespace paceline::sim
