// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <tuple>

#include "sim/jobs/policies/one_region.hpp"

/// BACE-Pipe, as its abstract and two summaries describe it: a priority that moves with congestion,
/// a path grown over links that do not stall the pipeline, the cheapest devices on it.
namespace paceline::sim::jobs {
namespace {

/// (1 - a)(1 - I) + a (1 - D): I is the job's work and D its demand on links, of the largest in the
/// queue; a is how much of all links is reserved.
std::vector<double> dynamic_priority(std::span<const QueuedJob> queue, double congestion) {
  double work = 0, demand = 0;
  for (const QueuedJob& job : queue) {
    work = std::max(work, job.work);
    demand = std::max(demand, job.demand);
  }
  std::vector<double> priority;
  for (const QueuedJob& job : queue) {
    const double intensity = work > 0 ? job.work / work : 0;
    const double hunger = demand > 0 ? job.demand / demand : 0;
    priority.push_back((1 - congestion) * (1 - intensity) + congestion * (1 - hunger));
  }
  return priority;
}

/// Regions in pipeline order with what is free in them.
struct Grown {
  std::vector<std::size_t> regions;
  int stages = 0;            ///< free in all of them
  double narrowest = 1e300;  ///< bytes/s free on its links
};

/// Whether a pipeline of all the stages there would be waits for no message.
bool keeps_up(const Grown& grown, const LinkState& link, int more,
              const PlacementRequest& request) {
  const int stages = request.usable(std::min(grown.stages + more, request.most()));
  if (stages == 0) return true;  // too few to run on so far
  return std::min(grown.narrowest, link.free) >= request.demand(stages);
}

/// One step of growth: over the link with most bandwidth left that does not stall, at either end.
bool grow(const RegionGraph& graph, const PlacementRequest& request, Grown& grown) {
  double widest = 0;
  std::size_t chosen = 0;
  bool at_front = false;
  const auto inside = [&](std::size_t r) {
    return std::find(grown.regions.begin(), grown.regions.end(), r) != grown.regions.end();
  };
  for (const bool front : {false, true}) {
    const std::size_t end = front ? grown.regions.front() : grown.regions.back();
    for (std::size_t r = 0; r < boost::num_vertices(graph); ++r) {
      const int more = free_stages(graph[r], request);
      if (more == 0 || inside(r)) continue;
      const LinkState* link = link_between(graph, end, r);
      if (link == nullptr || !(link->free > widest) || !keeps_up(grown, *link, more, request))
        continue;
      widest = link->free;
      chosen = r;
      at_front = front;
    }
  }
  if (!(widest > 0)) return false;
  grown.regions.insert(at_front ? grown.regions.begin() : grown.regions.end(), chosen);
  grown.stages += free_stages(graph[chosen], request);
  grown.narrowest = std::min(grown.narrowest, widest);
  return true;
}

/// The path with most usable stages over all regions to start from; of equals the one through
/// fewest regions, then the cheapest where `prices` count.
std::vector<std::size_t> find_path(const RegionGraph& graph, const PlacementRequest& request,
                                   bool prices) {
  using Rank = std::tuple<int, std::size_t, double>;
  std::vector<std::size_t> best;
  Rank best_rank{0, 0, 0};
  for (std::size_t start = 0; start < boost::num_vertices(graph); ++start) {
    Grown grown{{start}, free_stages(graph[start], request)};
    if (grown.stages == 0) continue;
    while (grown.stages < request.most() && grow(graph, request, grown)) {
    }
    const int stages = request.usable(std::min(grown.stages, request.most()));
    if (stages == 0) continue;
    double price = 0;
    for (const std::size_t r : grown.regions) price += graph[r].price;
    const Rank rank{-stages, grown.regions.size(), prices ? price : 0};
    if (!best.empty() && !(rank < best_rank)) continue;
    best = grown.regions;
    best_rank = rank;
  }
  return best;
}

/// One stage in every region of the path, the others where devices are cheapest, or in the order
/// of the path.
JobPath allocate(const RegionGraph& graph, const PlacementRequest& request,
                 std::vector<std::size_t> regions, bool prices) {
  int all = 0;
  for (const std::size_t r : regions) all += free_stages(graph[r], request);
  const int stages = request.usable(std::min(all, request.most()));
  while (regions.size() > static_cast<std::size_t>(std::max(stages, 1))) regions.pop_back();
  JobPath path;
  int left = stages - static_cast<int>(regions.size());
  for (const std::size_t r : regions) path.push_back({r, 1});
  std::vector<std::size_t> order(path.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (prices)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return cheaper(graph[regions[a]], graph[regions[b]]);
    });
  for (const std::size_t at : order) {
    const int more = std::min(left, free_stages(graph[regions[at]], request) - 1);
    path[at].stages += more;
    left -= more;
  }
  return path;
}

PlacementFunction path_finder(bool prices) {
  return [prices](const RegionGraph& graph, const PlacementRequest& request) -> JobPath {
    std::vector<std::size_t> regions = find_path(graph, request, prices);
    if (regions.empty()) return {};
    return allocate(graph, request, std::move(regions), prices);
  };
}

}  // namespace

JobPolicy bace_pipe() { return {dynamic_priority, path_finder(true)}; }
JobPolicy bace_no_priority() { return {{}, path_finder(true)}; }
JobPolicy bace_no_cost() { return {dynamic_priority, path_finder(false)}; }

JobPolicy bace_no_pathfinder() {
  return {dynamic_priority, [](const RegionGraph& graph, const PlacementRequest& request) {
            return in_one_region(graph, request, more_free);
          }};
}

}  // namespace paceline::sim::jobs
