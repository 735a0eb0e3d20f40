// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {
namespace {

using Point = std::array<int, 3>;

/// The routers built: in each dimension the whole ring, or one coordinate that all nodes share.
struct Box {
  Point dims{1, 1, 1};   ///< of the torus
  Point fixed{0, 0, 0};  ///< the shared coordinate; -1: the whole ring is built
  int first_router = 0;

  int size(std::size_t d) const { return fixed[d] < 0 ? dims[d] : 1; }
  int offset(std::size_t d, int x) const { return fixed[d] < 0 ? x : 0; }
  int index(const Point& p) const {
    return (offset(2, p[2]) * size(1) + offset(1, p[1])) * size(0) + offset(0, p[0]);
  }
  int routers() const { return size(0) * size(1) * size(2); }
};

Point point_of(int place, const Point& dims) {
  return {place % dims[0], place / dims[0] % dims[1], place / dims[0] / dims[1]};
}

Point router_at(const Box& box, int index) {
  const Point p{index % box.size(0), index / box.size(0) % box.size(1),
                index / box.size(0) / box.size(1)};
  Point at;
  for (std::size_t d = 0; d < 3; ++d) at[d] = box.fixed[d] < 0 ? p[d] : box.fixed[d];
  return at;
}

/// Six wires a router, by dimension and direction; Fabric::shape holds them after the box, -1 where
/// there is none (rings of one router, the second way round rings of two).
constexpr std::size_t kBox = 7, kWires = 6;

Box box_of(const std::vector<int>& shape) {
  return {{shape[0], shape[1], shape[2]}, {shape[3], shape[4], shape[5]}, shape[6]};
}

/// The shorter way round each ring, upwards when both are as long.
void by_dimension(const Fabric& fabric, int from_device, int to_device, std::vector<int>& route) {
  const Box box = box_of(fabric.shape);
  Point at = router_at(box, fabric.network_top(from_device) - box.first_router);
  const Point to = router_at(box, fabric.network_top(to_device) - box.first_router);
  for (std::size_t d = 0; d < 3; ++d) {
    const int ring = box.dims[d];
    const int ahead = (to[d] - at[d] + ring) % ring;
    const bool up = ring == 2 || 2 * ahead <= ring;
    while (at[d] != to[d]) {
      const auto slot = kBox + kWires * static_cast<std::size_t>(box.index(at)) + 2 * d;
      const int wire = fabric.shape[slot + (up ? 0 : 1)];
      route.push_back(wire);
      at[d] = (at[d] + (up ? 1 : ring - 1)) % ring;
    }
  }
}

Box used_box(const FabricPart& part, const Point& dims) {
  Box box{dims, {}, 0};
  box.fixed = point_of(part.nics.front().node - part.first_node, dims);
  for (const NicPort& nic : part.nics) {
    const Point p = point_of(nic.node - part.first_node, dims);
    for (std::size_t d = 0; d < 3; ++d)
      if (p[d] != box.fixed[d]) box.fixed[d] = -1;
  }
  return box;
}

std::string name_of(const Point& p) {
  return std::to_string(p[0]) + "." + std::to_string(p[1]) + "." + std::to_string(p[2]);
}

}  // namespace

void read_torus(FabricInput& in, FabricSpec& spec) {
  constexpr std::array<std::string_view, 3> kDims{"x", "y", "z"};
  std::int64_t routers = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    if (d > 0 && !in.fields.has(kDims[d])) continue;
    spec.dims[d] = in.integer(kDims[d], 1, 4096);
    routers *= spec.dims[d];
    in.check_wires(kDims[d], 6.0 * static_cast<double>(routers));
  }
  spec.local = in.rate("link");
  spec.switch_latency = in.latency("switch_latency");
}

/// Node n stands at (n mod x, n / x mod y, n / (x y)).
int build_torus(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part) {
  Box box = used_box(part, spec.dims);
  const double line = builder.line_share();
  box.first_router = static_cast<int>(builder.fabric.vertices.size());
  for (int i = 0; i < box.routers(); ++i)
    builder.add_vertex(part.prefix + "router" + name_of(router_at(box, i)), VertexKind::Router);
  std::vector<int> shape{box.dims[0],  box.dims[1],  box.dims[2],     box.fixed[0],
                         box.fixed[1], box.fixed[2], box.first_router};
  for (int i = 0; i < box.routers(); ++i) {
    const Point p = router_at(box, i);
    for (std::size_t d = 0; d < 3; ++d) {
      for (const bool up : {true, false}) {
        const int ring = box.dims[d];
        Point next = p;
        next[d] = (p[d] + (up ? 1 : ring - 1)) % ring;
        const bool built = box.fixed[d] < 0 && (up || ring > 2);
        shape.push_back(built ? builder.add_wire(box.first_router + i,
                                                 box.first_router + box.index(next),
                                                 spec.local * line, spec.switch_latency)
                              : -1);
      }
    }
  }
  builder.fabric.shape = std::move(shape);
  builder.fabric.between = &by_dimension;
  for (const NicPort& nic : part.nics) {
    const Point p = point_of(nic.node - part.first_node, spec.dims);
    builder.hang(nic.vertex, box.first_router + box.index(p), nic.rate, nic.latency);
  }
  return -1;
}

}  // namespace paceline::models::fabrics
