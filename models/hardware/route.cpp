// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/hardware/fabric_search.hpp"

namespace paceline::models {
namespace {

int end_of(const Fabric& fabric, int wire) {
  return fabric.wires[static_cast<std::size_t>(wire)].to;
}
int depth_of(const Fabric& fabric, int vertex) {
  return fabric.depth[static_cast<std::size_t>(vertex)];
}
int top_of(const Fabric& fabric, int vertex) {
  return fabric.top[static_cast<std::size_t>(vertex)];
}

/// Climbs from `from` and to `to` until both stand at one vertex, or at their tops.
void meet(const Fabric& fabric, int from, int to, std::vector<int>& up, std::vector<int>& down) {
  const auto climb = [&](int& at, std::vector<int>& wires, bool upwards) {
    const Uplink uplink = fabric.uplinks_of(at)[0];
    wires.push_back(upwards ? uplink.up : uplink.down);
    at = end_of(fabric, uplink.up);
  };
  while (from != to) {
    const int a = depth_of(fabric, from), b = depth_of(fabric, to);
    if (a == 0 && b == 0) return;
    if (a >= b) climb(from, up, true);
    if (b >= a) climb(to, down, false);
  }
}

/// The trees both ends hang on, the innermost first; -1 when only the network joins them.
std::pair<int, int> shared_uplinks(const Fabric& fabric, int from, int to) {
  const auto a = fabric.uplinks_of(from), b = fabric.uplinks_of(to);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      if (top_of(fabric, end_of(fabric, a[i].up)) == top_of(fabric, end_of(fabric, b[j].up)))
        return {static_cast<int>(i), static_cast<int>(j)};
  return {-1, -1};
}

[[noreturn]] void no_way(const Fabric& fabric, int from, int to) {
  const auto name = [&](int v) { return fabric.vertices[static_cast<std::size_t>(v)].name; };
  throw base::Error("no way leads from device " + name(from) + " to device " + name(to));
}

bool alive(const Fabric& fabric, const std::vector<int>& wires) {
  return std::all_of(wires.begin(), wires.end(), [&](int w) {
    return fabric.wires[static_cast<std::size_t>(w)].bandwidth.value > 0;
  });
}

}  // namespace

std::vector<int> route(const Fabric& fabric, int from_device, int to_device) {
  const auto vertex = [&](int device) {
    const int v = fabric.device_vertex.at(static_cast<std::size_t>(device));
    PACELINE_CHECK(v >= 0);
    return v;
  };
  const int from = vertex(from_device), to = vertex(to_device);
  if (from == to) return {};
  const auto a = fabric.uplinks_of(from), b = fabric.uplinks_of(to);
  if (a.empty() || b.empty()) no_way(fabric, from, to);
  auto [i, j] = shared_uplinks(fabric, from, to);
  const bool joined = i >= 0;
  if (!joined && fabric.between == nullptr) no_way(fabric, from, to);
  const Uplink first = joined ? a[static_cast<std::size_t>(i)] : a.back();
  const Uplink last = joined ? b[static_cast<std::size_t>(j)] : b.back();

  std::vector<int> wires, down;
  if (first.lead >= 0) wires = fabric.leads[static_cast<std::size_t>(first.lead)].up;
  wires.push_back(first.up);
  if (last.lead >= 0) {
    const std::vector<int>& after = fabric.leads[static_cast<std::size_t>(last.lead)].down;
    down.assign(after.rbegin(), after.rend());
  }
  down.push_back(last.down);
  const int start = end_of(fabric, first.up), stop = end_of(fabric, last.up);
  meet(fabric, start, stop, wires, down);
  if (!joined) fabric.between(fabric, from_device, to_device, wires);
  wires.insert(wires.end(), down.rbegin(), down.rend());
  if (fabric.broken && !alive(fabric, wires)) {
    wires = shortest_route(fabric, from, to);
    if (wires.empty()) no_way(fabric, from, to);
  }
  return wires;
}

}  // namespace paceline::models
