// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/site_layout.hpp"

#include <algorithm>

namespace paceline::models {
namespace {

/// First device of every site, and of what follows the last.
std::vector<int> site_starts(const Cluster& cluster) {
  std::vector<int> starts{0};
  std::size_t group = 0;
  int left = cluster.groups.front().nodes;  // nodes of the group not yet given to a site
  for (const SiteSpec& site : cluster.fabric.sites) {
    int devices = starts.back();
    for (int nodes = site.nodes; nodes > 0 && group < cluster.groups.size();) {
      const int here = std::min(nodes, left);
      devices += here * cluster.groups[group].devices_per_node;
      nodes -= here;
      left -= here;
      if (left == 0 && ++group < cluster.groups.size()) left = cluster.groups[group].nodes;
    }
    starts.push_back(devices);
  }
  return starts;
}

std::size_t site_of(const std::vector<int>& starts, int device) {
  return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), device) -
                                  starts.begin()) -
         1;
}

std::size_t sites_with_nodes(const Cluster& cluster) {
  return static_cast<std::size_t>(
      std::count_if(cluster.fabric.sites.begin(), cluster.fabric.sites.end(),
                    [](const SiteSpec& site) { return site.nodes > 0; }));
}

/// What one group gets of a way that `share` siblings use at the same time.
double rate_of(const SitePair& pair, double share) {
  const double part = pair.link.rate().value / share;
  return pair.cap_per_flow > 0 ? std::min(part, pair.cap_per_flow) : part;
}

/// Makes `pair` the network of the layout.
void take(const SitePair& pair, double share, GroupLayout& layout) {
  layout.network = &pair.link;
  layout.ports_per_node = 1;
  layout.network_share = pair.link.rate().value / rate_of(pair, share);
  layout.oversubscription = 1;
}

}  // namespace

bool has_sites(const Cluster& cluster) { return !cluster.fabric.pairs.empty(); }

std::vector<SiteMembers> members_by_site(const Cluster& cluster, std::span<const int> devices) {
  const std::vector<int> starts = site_starts(cluster);
  std::vector<int> members(starts.size(), 0);
  for (const int device : devices) ++members[site_of(starts, device)];
  std::vector<SiteMembers> sites;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    if (members[s] > 0) sites.push_back({s, starts[s + 1] - starts[s], members[s]});
  return sites;
}

std::vector<SiteMembers> members_by_site(const Cluster& cluster, int first, std::int64_t stride,
                                         int count) {
  const std::vector<int> starts = site_starts(cluster);
  const auto before = [&](std::int64_t device) {  // members below it
    if (device <= first) return std::int64_t{0};
    return std::min<std::int64_t>(count, (device - first + stride - 1) / stride);
  };
  std::vector<SiteMembers> sites;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const auto here = static_cast<int>(before(starts[s + 1]) - before(starts[s]));
    if (here > 0) sites.push_back({s, starts[s + 1] - starts[s], here});
  }
  return sites;
}

void over_sites(const Cluster& cluster, const std::vector<SiteMembers>& sites,
                GroupLayout& layout) {
  if (sites.size() < 2) return;
  const std::size_t all = sites_with_nodes(cluster);
  const SitePair* slowest = nullptr;
  double share = 1, rate = 0;
  layout.ranks_per_domain = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const SiteMembers &here = sites[i], &next = sites[(i + 1) % sites.size()];
    const SitePair& pair = cluster.fabric.pairs[here.site * all + next.site];
    const double siblings = std::min(static_cast<double>(here.devices) / here.members,
                                     static_cast<double>(next.devices) / next.members);
    const double gets = rate_of(pair, siblings);
    const bool later = gets == rate && slowest && pair.link.latency > slowest->link.latency;
    if (!slowest || gets < rate || later) {
      slowest = &pair;
      share = siblings;
      rate = gets;
    }
    layout.ranks_per_domain = std::max(layout.ranks_per_domain, here.members);
  }
  layout.sites = static_cast<int>(sites.size());
  if (layout.ranks_per_domain > 1 && !layout.intra) layout.intra = layout.network;
  layout.common = nullptr;
  layout.domains = layout.sites;
  layout.nodes_per_domain = 1;
  take(*slowest, share, layout);
}

void one_way(const Cluster& cluster, int from, int to, GroupLayout& layout) {
  const std::vector<int> starts = site_starts(cluster);
  const std::size_t a = site_of(starts, from), b = site_of(starts, to);
  const double siblings = std::min(starts[a + 1] - starts[a], starts[b + 1] - starts[b]);
  take(cluster.fabric.pairs[a * sites_with_nodes(cluster) + b], siblings, layout);
}

}  // namespace paceline::models
