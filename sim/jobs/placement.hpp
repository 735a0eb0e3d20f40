// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <cstddef>
#include <functional>
#include <vector>

/// Where a job goes: a function over a graph of regions, which anyone can write.
namespace paceline::sim::jobs {

struct RegionState {
  std::size_t region = 0;  ///< index, also that of the vertex
  int devices = 0, free = 0;
  double price = 0;  ///< USD per device and second at work: electricity and rent
};

/// Each way.
struct LinkState {
  double rate = 0, free = 0;  ///< bytes/s; free: not reserved by running jobs
  double latency = 0;         ///< s
};

/// All regions, joined where a message can go.
using RegionGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, RegionState, LinkState>;

/// Stages of the pipeline that lie in one region.
struct PathPart {
  std::size_t region = 0;
  int stages = 0;
  bool operator==(const PathPart&) const = default;
};
/// In the order of the pipeline; each region once, neighbours joined by a link. Empty: not now.
using JobPath = std::vector<PathPart>;

/// What is to be placed.
struct PlacementRequest {
  int unit = 1;  ///< devices of a stage
  /// Numbers of stages worth having, ascending: each makes steps shorter than all before it. The
  /// last is the most a job may take.
  const std::vector<int>* sizes = nullptr;
  double activation = 0;                     ///< bytes of a microbatch, each way
  std::function<double(int)> stage_seconds;  ///< of a microbatch, on so many stages
  bool wait_for_full = false;                ///< models::QueueRules

  int most() const { return sizes->back(); }
  /// The most stages worth having of `stages`; 0: too few.
  int usable(int stages) const;
  /// Bytes/s that a link of a pipeline of so many stages carries, each way.
  double demand(int stages) const { return activation / stage_seconds(stages); }
};

/// A path with request.usable(n) = n > 0 stages in all, within what is free, or an empty one.
using PlacementFunction = std::function<JobPath(const RegionGraph&, const PlacementRequest&)>;

/// A link of which less is free is no link: 0.1 %.
inline constexpr double kLeastFree = 1e-3;

/// Stages that fit into what is free of a region.
int free_stages(const RegionState& region, const PlacementRequest& request);
/// The link between two regions, or null when there is none with bandwidth left.
const LinkState* link_between(const RegionGraph& graph, std::size_t a, std::size_t b);

}  // namespace paceline::sim::jobs
