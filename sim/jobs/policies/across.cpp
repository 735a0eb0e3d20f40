// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/jobs/policies/one_region.hpp"

/// Greedy over regions, without looking at what links carry: CR-LCF and CR-LDF.
namespace paceline::sim::jobs {
namespace {

/// Takes what is free of `next` regions until the job has all it can use. `next` names the region
/// to go on with, or none.
template <class Next>
JobPath greedy(const RegionGraph& graph, const PlacementRequest& request, const Next& next) {
  JobPath path;
  int stages = 0;
  while (stages < request.most()) {
    const auto region = next(path);
    if (!region) break;
    const int more = std::min(free_stages(graph[*region], request), request.most() - stages);
    path.push_back({*region, more});
    stages += more;
  }
  int surplus = stages - request.usable(stages);
  while (surplus > 0 && !path.empty()) {  // more than is worth having: the last gives it back
    const int back = std::min(surplus, path.back().stages);
    path.back().stages -= back;
    surplus -= back;
    if (path.back().stages == 0) path.pop_back();
  }
  return path;
}

bool can_follow(const RegionGraph& graph, const PlacementRequest& request, const JobPath& path,
                std::size_t region) {
  if (free_stages(graph[region], request) == 0) return false;
  for (const PathPart& part : path)
    if (part.region == region) return false;
  return path.empty() || link_between(graph, path.back().region, region) != nullptr;
}

}  // namespace

JobPolicy cr_lcf() {
  return {{}, [](const RegionGraph& graph, const PlacementRequest& request) {
            const std::vector<std::size_t> order = regions_by(graph, cheaper);
            return greedy(graph, request, [&](const JobPath& path) -> std::optional<std::size_t> {
              const auto found = std::find_if(order.begin(), order.end(), [&](std::size_t r) {
                return can_follow(graph, request, path, r);
              });
              if (found == order.end()) return std::nullopt;
              return *found;
            });
          }};
}

// The summaries say "by bandwidth" of it: from the largest region on along the widest links.
JobPolicy cr_ldf() {
  return {{}, [](const RegionGraph& graph, const PlacementRequest& request) {
            const std::vector<std::size_t> order = regions_by(graph, more_free);
            return greedy(graph, request, [&](const JobPath& path) -> std::optional<std::size_t> {
              std::optional<std::size_t> best;
              double widest = -1;
              for (const std::size_t r : order) {
                if (!can_follow(graph, request, path, r)) continue;
                const double rate =
                    path.empty() ? 0 : link_between(graph, path.back().region, r)->rate;
                if (rate > widest) best = r;
                widest = std::max(widest, rate);
              }
              return best;
            });
          }};
}

}  // namespace paceline::sim::jobs
