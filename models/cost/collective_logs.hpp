// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "models/cost/collective_table.hpp"
#include "models/cost/nccl_log.hpp"
#include "models/hardware/placement.hpp"

/// The user's own nccl-tests logs of a cluster, and the curves they give other groups.
namespace paceline::models {

/// One log with the group it was measured on.
struct MeasuredLog {
  NcclLog log;
  /// The nodes it ran on; `group` points into it, so it stays where it is.
  std::unique_ptr<const Cluster> cluster;
  CollectiveGroup group;
  CollectiveCurve curve;
};

struct CollectiveLogs {
  std::vector<MeasuredLog> logs;
};

/// The log on `cluster`'s first kind of node; `nodes` of them unless it states its own number.
/// `settings` gives what NCCL may choose. Throws base::Error (`where` first) when the ranks do not
/// fit such nodes.
MeasuredLog place_log(NcclLog log, const Cluster& cluster, const CollectiveGroup& settings,
                      const NcclRelease& release, const std::string& where);

/// Curves for one group, null when no log speaks for it: of a log of the very group, else carried
/// over from the nearest of the same algorithm over the same links. Inside a domain gathers,
/// scatters and all-reduces stand in for each other (collective_table.hpp); over the network only
/// the same operation, or gather and scatter, on domains of as many members, at most twice or half
/// as many.
std::shared_ptr<const CollectiveTable> curves_for(const CollectiveLogs& logs,
                                                  const CollectiveGroup& group,
                                                  const NcclRelease& release);

/// What the layout says of bandwidth: links, ports and siblings, without any table.
CollectiveGroup group_of_layout(const Cluster& cluster, const GroupLayout& layout);

}  // namespace paceline::models
