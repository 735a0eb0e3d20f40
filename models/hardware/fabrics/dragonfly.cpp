// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/hardware/fabrics/fabrics.hpp"

/// Kim, Dally, Scott, Abts: Technology-driven, highly scalable dragonfly topology, ISCA 2008.
namespace paceline::models::fabrics {
namespace {

/// Layout of Fabric::shape. Groups are numbered by those built, routers by all of a group.
enum DragonflyShape {
  kRouters,
  kLinks,
  kFirstRouter,
  kFirstLocal,
  kFirstGlobal,
  kGroups,
  kGroupNumbers
};

int wires_in_group(int routers) { return routers * (routers - 1); }

/// Wire from router r to router s of a group, counted from its first.
int local_wire(int routers, int r, int s) { return r * (routers - 1) + s - (s > r ? 1 : 0); }

/// The router of group `a` that holds link `l` to group `b`: links are dealt out in turn.
int gateway(int routers, int links, int a, int b, int l) {
  const std::int64_t peer = b - (b > a ? 1 : 0);
  return static_cast<int>((peer * links + l) % routers);
}

/// Minimal: at most one wire in the first group, one between the groups, one in the last.
void minimal(const Fabric& fabric, int from_device, int to_device, std::vector<int>& route) {
  const std::vector<int>& shape = fabric.shape;
  const int routers = shape[kRouters], links = shape[kLinks];
  const int from = fabric.network_top(from_device) - shape[kFirstRouter];
  const int to = fabric.network_top(to_device) - shape[kFirstRouter];
  const int a = from / routers, b = to / routers, r = from % routers, s = to % routers;
  const auto inside = [&](int group, int x, int y) {
    if (x != y)
      route.push_back(shape[kFirstLocal] + group * wires_in_group(routers) +
                      local_wire(routers, x, y));
  };
  if (a == b) return inside(a, r, s);
  const auto number = [&](int group) {
    return shape[static_cast<std::size_t>(kGroupNumbers + group)];
  };
  const int link = (r + s) % links;
  inside(a, r, gateway(routers, links, number(a), number(b), link));
  route.push_back(shape[kFirstGlobal] + local_wire(shape[kGroups], a, b) * links + link);
  inside(b, gateway(routers, links, number(b), number(a), link), s);
}

/// The groups that have nodes, ascending.
std::vector<int> used_groups(const FabricPart& part, int nodes_per_group) {
  std::vector<int> groups;
  for (const NicPort& nic : part.nics) {
    const int group = (nic.node - part.first_node) / nodes_per_group;
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  return groups;
}

void join_groups(FabricBuilder& builder, const FabricSpec& spec, const std::vector<int>& groups,
                 int first_router) {
  const int routers = spec.routers_per_group, links = spec.links_per_pair;
  const double line = builder.line_share();
  const auto count = static_cast<int>(groups.size());
  builder.fabric.shape[kFirstGlobal] = static_cast<int>(builder.fabric.wires.size());
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a == b) continue;
      const int x = groups[static_cast<std::size_t>(a)], y = groups[static_cast<std::size_t>(b)];
      for (int l = 0; l < links; ++l) {
        const int wire =
            builder.add_wire(first_router + a * routers + gateway(routers, links, x, y, l),
                             first_router + b * routers + gateway(routers, links, y, x, l),
                             spec.global * line, spec.switch_latency);
        // Two links of a pair may end at the same routers.
        if (links > 1)
          builder.fabric.wires[static_cast<std::size_t>(wire)].name += "#" + std::to_string(l);
      }
    }
  }
}

}  // namespace

void read_dragonfly(FabricInput& in, FabricSpec& spec) {
  spec.groups = in.integer("groups", 1, 4096);
  spec.routers_per_group = in.integer("routers_per_group", 1, 1024);
  spec.nodes_per_router = in.integer("nodes_per_router", 1, 1024);
  spec.links_per_pair = in.integer("links_per_pair", 1, 1024);
  const double groups = spec.groups, routers = spec.routers_per_group;
  in.check_wires("groups",
                 groups * routers * (routers - 1) + groups * (groups - 1) * spec.links_per_pair);
  spec.local = in.rate("local");
  spec.global = in.rate("global");
  spec.switch_latency = in.latency("switch_latency");
}

int build_dragonfly(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part) {
  const int routers = spec.routers_per_group;
  const int nodes_per_group = routers * spec.nodes_per_router;
  const double line = builder.line_share();
  const std::vector<int> groups = used_groups(part, nodes_per_group);
  const auto first_router = static_cast<int>(builder.fabric.vertices.size());
  for (const int group : groups)
    for (int r = 0; r < routers; ++r)
      builder.add_vertex(
          part.prefix + "group" + std::to_string(group) + ".router" + std::to_string(r),
          VertexKind::Router);
  builder.fabric.shape = {routers,
                          spec.links_per_pair,
                          first_router,
                          static_cast<int>(builder.fabric.wires.size()),
                          0,
                          static_cast<int>(groups.size())};
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int r = 0; r < routers; ++r)
      for (int s = 0; s < routers; ++s)
        if (r != s) {
          const int base = first_router + static_cast<int>(g) * routers;
          builder.add_wire(base + r, base + s, spec.local * line, spec.switch_latency);
        }
  join_groups(builder, spec, groups, first_router);
  builder.fabric.shape.insert(builder.fabric.shape.end(), groups.begin(), groups.end());
  builder.fabric.between = &minimal;
  for (const NicPort& nic : part.nics) {
    const int place = nic.node - part.first_node;
    const auto at = std::lower_bound(groups.begin(), groups.end(), place / nodes_per_group);
    const int router = static_cast<int>(at - groups.begin()) * routers +
                       place % nodes_per_group / spec.nodes_per_router;
    builder.hang(nic.vertex, first_router + router, nic.rate, nic.latency);
  }
  return -1;
}

}  // namespace paceline::models::fabrics
