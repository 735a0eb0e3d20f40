// SPDX-License-Identifier: Apache-2.0
#include "models/context/method.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

namespace paceline::models {
namespace {

std::vector<Run> window_of(const std::vector<std::int64_t>& lengths) {
  std::vector<Run> runs;
  for (const std::int64_t n : lengths) runs.push_back({static_cast<int>(runs.size()), 0, n});
  return runs;
}

/// Twice the pairs (i, j) of unit squares below the diagonal, one by one.
std::int64_t counted(const Piece& q, const Piece& k, const Mask& mask) {
  const auto below = [](std::int64_t i, std::int64_t j) { return j < i ? 2 : j == i ? 1 : 0; };
  std::int64_t sum = 0;
  if (q.document != k.document) return 0;
  for (std::int64_t a = 0; a < q.count; ++a) {
    for (std::int64_t b = 0; b < k.count; ++b) {
      const std::int64_t i = q.begin + a * q.stride, j = k.begin + b * k.stride;
      sum += below(i, j) - (mask.window > 0 ? below(i - mask.window, j) : 0);
    }
  }
  return sum;
}

ContextTask task_of(const ContextOrder& order, const std::vector<Run>& window, int ranks,
                    const Mask& mask) {
  ContextTask task = context_task(order, window, {}, ranks, mask);
  task.inner = ranks % 4 == 0 ? ranks / 2 : 1;
  task.chunks = 2;
  task.heads = 32;
  task.kv_heads = 8;
  return task;
}

std::int64_t mask_area(const std::vector<Run>& window, const Mask& mask) {
  std::int64_t sum = 0;
  for (const Run& run : window) sum += twice_area(run.tokens(), mask);
  return sum;
}

/// Of all ranks and steps, in shares of the heads.
double computed(const ContextWork& work) {
  double sum = 0;
  for (const ContextStep& step : work.steps)
    for (const std::int64_t area : step.twice_areas) sum += step.heads * static_cast<double>(area);
  return sum;
}

bool suits(const ContextMethod& method, const ContextOrder& order) {
  return !method.traits.contiguous || order.name == "contiguous";
}

}  // namespace

TEST_CASE("the area of a block of scores is the sum of its squares") {
  for (const std::int64_t window : {0, 1, 3, 7, 40}) {
    const Mask mask{window};
    for (std::int64_t begin = 0; begin < 9; begin += 2) {
      for (const std::int64_t stride : {1, 3}) {
        for (std::int64_t from = 0; from < 12; from += 5) {
          const Piece q{0, begin, 6, stride}, k{0, from, 5, stride};
          INFO("window " << window << " " << begin << " " << from << " stride " << stride);
          CHECK(twice_area(q, k, mask) == counted(q, k, mask));
        }
        const Piece q{0, begin, 6, stride}, all{0, 0, begin + 6 * stride, 1};
        CHECK(twice_area(q, mask, begin + 6 * stride) == counted(q, all, mask));
      }
    }
    CHECK(twice_area(Piece{0, 0, 4, 1}, Piece{1, 0, 4, 1}, mask) == 0);
  }
  CHECK(twice_area(std::int64_t{1} << 27, Mask{}) == std::int64_t{1} << 54);
}

TEST_CASE("every order deals every token to one rank") {
  for (const ContextOrder& order : context_orders()) {
    for (const auto& lengths : {std::vector<std::int64_t>{96}, {1, 50, 3, 41, 1}, {7, 89}}) {
      const std::vector<Run> window = window_of(lengths);
      for (const int ranks : {1, 2, 3, 8}) {
        INFO(order.name << " over " << ranks);
        std::vector<std::vector<int>> seen;
        for (const std::int64_t n : lengths) seen.emplace_back(static_cast<std::size_t>(n), 0);
        for (const Holding& holding : order.deal(window, ranks, {})) {
          for (const Piece& p : holding) {
            for (std::int64_t i = 0; i < p.count; ++i) {
              ++seen.at(static_cast<std::size_t>(p.document))
                    .at(static_cast<std::size_t>(p.begin + i * p.stride));
            }
          }
        }
        for (const std::vector<int>& document : seen)
          CHECK(std::all_of(document.begin(), document.end(), [](int n) { return n == 1; }));
      }
    }
  }
}

TEST_CASE("attention over the ranks adds up to the area of the mask") {
  for (const ContextMethod& method : context_methods()) {
    for (const ContextOrder& order : context_orders()) {
      if (!suits(method, order)) continue;
      for (const auto& lengths : {std::vector<std::int64_t>{256}, {3, 100, 1, 121, 31}}) {
        const std::vector<Run> window = window_of(lengths);
        for (const std::int64_t reach : {0, 20}) {
          for (const int ranks : {1, 2, 4, 8}) {
            for (const bool backward : {false, true}) {
              ContextTask task = task_of(order, window, ranks, Mask{reach});
              task.backward = backward;
              const ContextWork work = method.plan(task);
              INFO(method.name << ", " << order.name << " over " << ranks << ", window " << reach);
              CHECK(computed(work) == static_cast<double>(mask_area(window, Mask{reach})));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("slices and earlier keys add up to the whole sequence") {
  for (const ContextMethod& method : context_methods()) {
    if (!method.traits.slices) continue;
    for (const ContextOrder& order : context_orders()) {
      if (!suits(method, order)) continue;
      double sum = 0;
      for (std::int64_t begin = 0; begin < 256; begin += 64) {
        const Run slice{0, begin, begin + 64}, before{0, 0, begin};
        ContextTask task =
            context_task(order, std::span(&slice, 1),
                         std::span(&before, begin > 0 ? std::size_t{1} : 0), 4, Mask{});
        task.inner = 2;
        task.heads = task.kv_heads = 8;
        sum += computed(method.plan(task));
      }
      INFO(method.name << ", " << order.name);
      CHECK(sum == 256.0 * 256.0);
    }
  }
}

TEST_CASE("orders balance what they promise") {
  const std::vector<Run> window = window_of({4096});
  const auto busiest = [&](std::string_view order) {
    double sum = 0;
    const ContextWork work =
        context_method("ring")->plan(task_of(*context_order(order), window, 8, {}));
    for (const ContextStep& step : work.steps)
      sum +=
          static_cast<double>(*std::max_element(step.twice_areas.begin(), step.twice_areas.end()));
    return sum;
  };
  const double share = 4096.0 * 4096.0 / 8;
  CHECK(busiest("zigzag") == share);
  CHECK(busiest("per-document") == share);
  CHECK(busiest("contiguous") == Approx(share * (2 - 1.0 / 8)));  // a full block in every step
  CHECK(busiest("striped") == Approx(share).epsilon(0.002));
}

TEST_CASE(
    "DistFlash needs half the steps of a plain ring; an even number of ranks idles 1 / (n + 1)") {
  const std::vector<Run> window = window_of({4096});
  for (const int ranks : {2, 4, 7, 8}) {
    const ContextWork work =
        context_method("distflash")->plan(task_of(*context_order("contiguous"), window, ranks, {}));
    REQUIRE(work.steps.size() == static_cast<std::size_t>(ranks / 2 + 1));
    double sum = 0;
    for (const ContextStep& step : work.steps)
      sum +=
          static_cast<double>(*std::max_element(step.twice_areas.begin(), step.twice_areas.end()));
    const double idle = 1 - 4096.0 * 4096.0 / ranks / sum;
    CHECK(idle == Approx(ranks % 2 == 0 ? 1.0 / (ranks + 1) : 0).margin(0.003));
  }
}

TEST_CASE("exchanges of context parallelism have their closed forms") {
  const std::vector<Run> window = window_of({4096});
  const int ranks = 8;  // inner groups of 4
  const double local = 4096.0 / ranks;
  const auto plan = [&](std::string_view method, bool backward) {
    ContextTask task =
        task_of(*context_order(context_method(method)->traits.contiguous ? "contiguous" : "zigzag"),
                window, ranks, {});
    task.backward = backward;
    return context_method(method)->plan(task);
  };
  const auto sum = [](const ContextWork& work, ContextGroup group, CollectiveOp op,
                      double ContextExchange::*what) {
    double amount = 0;
    const auto add = [&](const std::vector<ContextExchange>& list) {
      for (const ContextExchange& e : list)
        if (e.group == group && e.op == op) amount += e.*what;
    };
    add(work.before);
    for (const ContextStep& step : work.steps) add(step.beside);
    add(work.after);
    return amount;
  };
  using E = ContextExchange;
  constexpr auto kSend = CollectiveOp::SendRecv, kAll = CollectiveOp::AllToAll;
  constexpr auto kWhole = ContextGroup::All;
  // A ring: n - 1 hops of keys; gradients go home as well.
  CHECK(sum(plan("ring", false), kWhole, kSend, &E::keys) == 7 * local);
  CHECK(sum(plan("ring", true), kWhole, kSend, &E::keys) == (7 + 8) * local);
  CHECK(sum(plan("all-gather", false), kWhole, CollectiveOp::AllGather, &E::keys) == 4096);
  CHECK(sum(plan("all-gather", true), kWhole, CollectiveOp::ReduceScatter, &E::keys) == 4096);
  // Ulysses (Jacobs et al. 2023, section 3.2): 3 N h of Q, K, V and N h of the outputs over P.
  for (const char* method : {"ulysses", "hcms"}) {
    for (const bool backward : {false, true}) {
      const ContextWork work = plan(method, backward);
      CHECK(sum(work, kWhole, kAll, &E::queries) == Approx(local));
      CHECK(sum(work, kWhole, kAll, &E::keys) == Approx(local));
      CHECK(sum(work, kWhole, kAll, &E::outputs) == Approx(local));
    }
  }
  // USP: heads over `inner`, and a ring of 2 whose messages hold a share of the heads.
  CHECK(sum(plan("usp", false), ContextGroup::Inner, kAll, &E::queries) == local);
  CHECK(sum(plan("usp", false), ContextGroup::Outer, kSend, &E::keys) == local);
  // A double ring moves each key as often as a ring does, most of it inside.
  CHECK(sum(plan("double-ring", false), ContextGroup::Inner, kSend, &E::keys) == 2 * 3 * local);
  CHECK(sum(plan("double-ring", false), ContextGroup::Outer, kSend, &E::keys) == local);
  // One document that is cut is gathered whole.
  CHECK(sum(plan("document-gather", false), kWhole, CollectiveOp::AllGather, &E::keys) == 4096);
  CHECK(sum(plan("document-gather", true), kWhole, CollectiveOp::ReduceScatter, &E::keys) == 4096);
  // HSAP, two outer groups in zigzag order: the first holds the last tokens and needs all others.
  CHECK(sum(plan("hsap", false), ContextGroup::Outer, kAll, &E::keys) == Approx(4096 / 4.0));
}

TEST_CASE("keys of fewer heads than ranks are copied") {
  ContextTask task = task_of(*context_order("contiguous"), window_of({64}), 16, {});
  task.kv_heads = 2;
  const ContextWork work = context_method("ulysses")->plan(task);
  REQUIRE(work.before.size() == 1);
  CHECK(work.before.front().queries == 4);
  CHECK(work.before.front().keys == 4 * 8);
}

TEST_CASE("whole documents need no exchange and every rank holds its share") {
  const std::vector<Run> window = window_of({60, 40, 30, 30, 20, 10, 10});
  const ContextOrder& order = *context_order("whole-document");
  for (const Holding& holding : order.deal(window, 2, {})) CHECK(held_tokens(holding) == 100);
  const ContextWork work = context_method("document-gather")->plan(task_of(order, window, 2, {}));
  CHECK(work.before.empty());
  CHECK(work.after.empty());
}

}  // namespace paceline::models
