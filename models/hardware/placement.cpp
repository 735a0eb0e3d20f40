// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/placement.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/hardware/site_layout.hpp"

namespace paceline::models {
namespace {

/// How members spread over the domains of one size.
struct Spread {
  int domains = 0;
  int most = 0;  ///< members in the fullest one
};

/// Members first, first + stride, … of one node group, by index inside the group.
struct Run {
  std::int64_t first = 0, stride = 1;
  int count = 0;
};

Spread spread(const Run& run, std::int64_t size) {
  if (run.stride >= size) return {run.count, 1};
  const std::int64_t last_member = run.first + (run.count - 1) * run.stride;
  const std::int64_t begin = run.first / size, end = last_member / size;
  // Steps shorter than a domain skip none, and the pattern of members repeats after `period`
  // domains.
  const std::int64_t period = run.stride / std::gcd(run.stride, size);
  std::int64_t most = 0;
  for (std::int64_t d = begin; d <= std::min(end, begin + period); ++d) {
    const std::int64_t low = std::max(d * size, run.first);
    const std::int64_t high = std::min((d + 1) * size - 1, last_member);
    const std::int64_t before = (low - run.first + run.stride - 1) / run.stride;
    most = std::max(most, (high - run.first) / run.stride - before + 1);
  }
  return {static_cast<int>(end - begin + 1), static_cast<int>(most)};
}

/// Nodes of the run in the fullest domain of `domain` devices.
int nodes_in_domain(const Run& run, std::int64_t node, std::int64_t domain) {
  if (domain <= node) return 1;
  if (run.stride >= node) return spread(run, domain).most;
  const std::int64_t first = run.first / node;
  const std::int64_t last = (run.first + (run.count - 1) * run.stride) / node;
  return spread(Run{first, 1, static_cast<int>(last - first + 1)}, domain / node).most;
}

/// The same for members listed in ascending order.
using Listed = std::vector<std::int64_t>;

Spread spread(const Listed& members, std::int64_t size) {
  Spread result;
  std::int64_t current = -1;
  int here = 0;
  for (const std::int64_t member : members) {
    if (member / size != current) {
      current = member / size;
      ++result.domains;
      here = 0;
    }
    result.most = std::max(result.most, ++here);
  }
  return result;
}

int nodes_in_domain(const Listed& members, std::int64_t node, std::int64_t domain) {
  if (domain <= node) return 1;
  Listed nodes;
  for (const std::int64_t member : members)
    if (nodes.empty() || nodes.back() != member / node) nodes.push_back(member / node);
  return spread(nodes, domain / node).most;
}

int size_of(const Run& run) { return run.count; }
int size_of(const Listed& members) { return static_cast<int>(members.size()); }

std::int64_t domain_size(const NodeGroup& group) {
  return group.levels.empty() ? group.devices_per_node : group.levels.back().size;
}

const Link* slower(const Link* a, const Link* b) {
  if (!a || !b) return a ? a : b;
  return b->rate() < a->rate() ? b : a;
}

/// Adds the members that sit in one node group. Steps stand at their level's index until finish().
template <class Members>
void add(GroupLayout& layout, const NodeGroup& group, const Members& members) {
  int units = size_of(members);
  layout.ranks += units;
  for (std::size_t i = 0; i < group.levels.size(); ++i) {
    const Spread here = spread(members, group.levels[i].size);
    LayoutStep& step = layout.steps[i];
    if (here.domains < units) step.link = slower(step.link, &group.levels[i].link);
    step.domains += here.domains;
    step.ranks_per_domain = std::max(step.ranks_per_domain, here.most);
    units = here.domains;
  }
  const Spread domains = spread(members, domain_size(group));
  const Spread nodes = spread(members, group.devices_per_node);
  layout.domains += domains.domains;
  layout.nodes += nodes.domains;
  layout.ranks_per_domain = std::max(layout.ranks_per_domain, domains.most);
  layout.ranks_per_node = std::max(layout.ranks_per_node, nodes.most);
  layout.nodes_per_domain =
      std::max(layout.nodes_per_domain,
               nodes_in_domain(members, group.devices_per_node, domain_size(group)));

  GroupLayout sender;
  sender.network = &group.network;
  sender.ports_per_node = group.ports_per_node;
  sender.devices_per_node = group.devices_per_node;
  sender.network_share = static_cast<double>(group.devices_per_node) / nodes.most;
  if (layout.network && !(sender.node_rate() < layout.node_rate())) return;
  layout.network = sender.network;
  layout.ports_per_node = sender.ports_per_node;
  layout.devices_per_node = sender.devices_per_node;
  layout.network_share = sender.network_share;
}

/// Keeps the steps that are used and settles what depends on all members.
GroupLayout finish(GroupLayout layout, const Cluster& cluster) {
  int used = 0;
  for (const LayoutStep& step : layout.steps) {
    if (!step.link) continue;
    layout.intra = slower(layout.intra, step.link);
    layout.steps[static_cast<std::size_t>(used++)] = step;
  }
  for (std::size_t i = static_cast<std::size_t>(used); i < layout.steps.size(); ++i)
    layout.steps[i] = {};
  layout.step_count = used;
  if (layout.domains == 1) {
    layout.network = nullptr;
    layout.network_share = 1;
    if (used > 0) layout.common = layout.steps[static_cast<std::size_t>(used - 1)].link;
  } else {
    layout.oversubscription = cluster.oversubscription;
  }
  return layout;
}

/// The layout before finish() of a run that may cross node groups.
GroupLayout tally(const Cluster& cluster, const Run& run) {
  GroupLayout layout;
  std::int64_t offset = 0;
  int done = 0;
  for (const NodeGroup& group : cluster.groups) {
    const std::int64_t end = offset + std::int64_t{group.nodes} * group.devices_per_node;
    const std::int64_t next = run.first + done * run.stride;
    if (done < run.count && next < end) {
      const std::int64_t fit = (end - 1 - next) / run.stride + 1;
      const int here = static_cast<int>(std::min<std::int64_t>(fit, run.count - done));
      add(layout, group, Run{next - offset, run.stride, here});
      done += here;
    }
    offset = end;
  }
  PACELINE_CHECK(done == run.count);
  return layout;
}

GroupLayout tally(const Cluster& cluster, Listed devices) {
  std::sort(devices.begin(), devices.end());
  PACELINE_CHECK(!devices.empty() && devices.front() >= 0);
  PACELINE_CHECK(std::adjacent_find(devices.begin(), devices.end()) == devices.end());
  GroupLayout layout;
  std::int64_t offset = 0;
  auto at = devices.begin();
  for (const NodeGroup& group : cluster.groups) {
    const std::int64_t end = offset + std::int64_t{group.nodes} * group.devices_per_node;
    const auto stop = std::lower_bound(at, devices.end(), end);
    Listed here(at, stop);
    for (std::int64_t& member : here) member -= offset;
    if (!here.empty()) add(layout, group, here);
    at = stop;
    offset = end;
  }
  PACELINE_CHECK(at == devices.end());
  return layout;
}

/// Axes that continue one another become one; axes of one member vanish.
std::vector<Axis> merged(std::span<const Axis> axes) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    PACELINE_CHECK(axis.stride >= 1 && axis.count >= 1);
    if (axis.count == 1) continue;
    if (!result.empty() && axis.stride == result.back().stride * result.back().count)
      result.back().count *= axis.count;
    else
      result.push_back(axis);
  }
  if (result.empty()) result.push_back({1, 1});
  return result;
}

/// Whether the copies along `axis` of a set reaching `extent` devices beyond `first` sit alike in
/// domains of their own.
bool copies_alike(const NodeGroup& group, int first, std::int64_t extent, const Axis& axis) {
  const std::int64_t domain = std::max<std::int64_t>(domain_size(group), group.devices_per_node);
  return axis.stride % domain == 0 && first % domain + extent < axis.stride;
}

void repeat(GroupLayout& layout, int times) {
  layout.ranks *= times;
  layout.domains *= times;
  layout.nodes *= times;
  for (LayoutStep& step : layout.steps) step.domains *= times;
}

Listed list(int first, std::span<const Axis> axes) {
  Listed all{first};
  for (const Axis& axis : axes) {
    const std::size_t before = all.size();
    PACELINE_CHECK(static_cast<double>(before) * axis.count <= kMaxDevices);
    for (int i = 1; i < axis.count; ++i)
      for (std::size_t k = 0; k < before; ++k) all.push_back(all[k] + i * axis.stride);
  }
  return all;
}

}  // namespace

base::BytesPerSecond GroupLayout::node_rate() const {
  if (!network || ports_per_node == 0) return {};
  return network->rate() * ports_per_node / network_share;
}

GroupLayout layout_of(const Cluster& cluster, std::span<const int> devices) {
  GroupLayout layout = finish(tally(cluster, Listed(devices.begin(), devices.end())), cluster);
  if (has_sites(cluster)) over_sites(cluster, members_by_site(cluster, devices), layout);
  return layout;
}

GroupLayout layout_of(const Cluster& cluster, int first, std::int64_t stride, int count) {
  PACELINE_CHECK(first >= 0 && stride >= 1 && count >= 1);
  GroupLayout layout = finish(tally(cluster, Run{first, stride, count}), cluster);
  if (has_sites(cluster))
    over_sites(cluster, members_by_site(cluster, first, stride, count), layout);
  return layout;
}

GroupLayout layout_of(const Cluster& cluster, int first, std::span<const Axis> axes) {
  const std::vector<Axis> all = merged(axes);
  if (all.size() == 1) return layout_of(cluster, first, all[0].stride, all[0].count);
  if (has_sites(cluster)) {
    const Listed listed = list(first, all);
    const std::vector<int> devices(listed.begin(), listed.end());
    return layout_of(cluster, std::span<const int>(devices));
  }
  GroupLayout layout = tally(cluster, Run{first, all[0].stride, all[0].count});
  std::int64_t extent = (all[0].count - 1) * all[0].stride;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (cluster.groups.size() != 1 || !copies_alike(cluster.groups[0], first, extent, all[i]))
      return finish(tally(cluster, list(first, all)), cluster);
    repeat(layout, all[i].count);
    extent += (all[i].count - 1) * all[i].stride;
  }
  PACELINE_CHECK(first + extent < cluster.devices());
  return finish(layout, cluster);
}

GroupLayout layout_of_pair(const Cluster& cluster, int from, int to) {
  const std::array<int, 2> pair{from, to};
  GroupLayout layout = layout_of(cluster, std::span<const int>(pair));
  if (layout.sites > 1) one_way(cluster, from, to, layout);
  return layout;
}

}  // namespace paceline::models
