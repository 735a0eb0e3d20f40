// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/rings.hpp"

#include <algorithm>

#include "models/parallel/axes.hpp"

namespace paceline::sim {

using models::Axis;

int domain_of(const models::Cluster& cluster, int device) {
  int first = 0, domain = 0;
  for (const models::NodeGroup& group : cluster.groups) {
    const int spanned = group.levels.empty() ? 1 : group.levels.back().size;
    const int size = std::max(group.devices_per_node, spanned);
    if (device < first + group.devices()) return domain + (device - first) / size;
    first += group.devices();
    domain += (group.devices() + size - 1) / size;
  }
  return domain;
}

std::vector<int> members_of(int device, const std::vector<Axis>& axes) {
  std::vector<int> members{models::first_member(device, axes)};
  for (const Axis& axis : axes) {
    const std::size_t before = members.size();
    for (int i = 1; i < axis.count; ++i) {
      for (std::size_t m = 0; m < before; ++m) {
        members.push_back(members[m] + static_cast<int>(i * axis.stride));
      }
    }
  }
  std::sort(members.begin(), members.end());
  return members;
}

std::vector<std::vector<int>> by_domain(const models::Cluster& cluster,
                                        const std::vector<int>& members) {
  std::vector<std::vector<int>> domains;
  int last = -1;
  for (const int device : members) {
    const int domain = domain_of(cluster, device);
    if (domain != last) domains.emplace_back();
    domains.back().push_back(device);
    last = domain;
  }
  return domains;
}

std::vector<RingHop> ring_hops(const models::Cluster& cluster, const std::vector<int>& members) {
  const std::vector<std::vector<int>> domains = by_domain(cluster, members);
  std::vector<RingHop> hops;
  const bool alone = domains.size() == 1;
  const auto add = [&](int from, int to, std::size_t flows) {
    if (from != to && flows > 0) hops.push_back({from, to, static_cast<std::uint32_t>(flows)});
  };
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const std::vector<int>& here = domains[i];
    const std::vector<int>& next = domains[(i + 1) % domains.size()];
    for (std::size_t j = 0; j < here.size(); ++j) {
      add(here[j], here[(j + 1) % here.size()], alone ? 1 : here.size() - 1);
      if (!alone) add(here[j], next[j % next.size()], 1);
    }
  }
  return hops;
}

}  // namespace paceline::sim
