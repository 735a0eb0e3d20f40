// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "models/hardware/fabric.hpp"

namespace paceline::models {
namespace {

constexpr std::size_t kDrawnInFull = 200;  ///< vertices
constexpr std::size_t kDrawnSwitches = 300;
constexpr std::size_t kLabelled = 600;  ///< directions of edges; more are laid out by springs

/// What is drawn: boxes that stand for one or many vertices, and what runs between them.
struct Drawing {
  struct Box {
    std::string name, label, shape;
  };
  std::vector<Box> boxes;
  std::vector<std::size_t> of_vertex;
  std::map<std::pair<std::size_t, std::size_t>, double> rates;  ///< B/s, wires of a pair together
};

std::string shape_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::Device:
      return "box";
    case VertexKind::Nic:
      return "house";
    case VertexKind::PcieSwitch:
    case VertexKind::HostBridge:
    case VertexKind::DeviceSwitch:
      return "trapezium";
    case VertexKind::Switch:
    case VertexKind::Router:
      return "ellipse";
    case VertexKind::Site:
      return "doubleoctagon";
  }
  PACELINE_CHECK(false);
  return "";
}

/// "group3.router7" -> "group3", "Iowa/leaf2" -> "Iowa".
std::string family(const std::string& name) { return name.substr(0, name.find_first_of("./")); }

void add_rates(const Fabric& fabric, Drawing& drawing) {
  drawing.rates.clear();
  for (const Wire& wire : fabric.wires) {
    const std::size_t from = drawing.of_vertex[static_cast<std::size_t>(wire.from)];
    const std::size_t to = drawing.of_vertex[static_cast<std::size_t>(wire.to)];
    if (from != to) drawing.rates[{from, to}] += wire.bandwidth.value;
  }
}

/// One box a vertex, or a node; switches of a family in one where there are many.
Drawing boxes_of(const Fabric& fabric, bool whole_nodes) {
  const auto outside = std::count_if(fabric.vertices.begin(), fabric.vertices.end(),
                                     [](const Vertex& v) { return v.node < 0; });
  const bool families = whole_nodes && static_cast<std::size_t>(outside) > kDrawnSwitches;
  Drawing drawing;
  std::map<std::string, std::size_t> known;
  for (const Vertex& vertex : fabric.vertices) {
    std::string name = vertex.name, shape = shape_of(vertex.kind);
    if (whole_nodes && vertex.node >= 0) {
      name = "n" + std::to_string(vertex.node);
      shape = "box3d";
    } else if (families) {
      name = family(vertex.name);
    }
    const auto [at, added] = known.emplace(name, drawing.boxes.size());
    if (added) drawing.boxes.push_back({name, name, shape});
    drawing.of_vertex.push_back(at->second);
  }
  add_rates(fabric, drawing);
  return drawing;
}

/// Nodes that hang on the same switches with the same rates become the first of them.
void merge_alike(const Fabric& fabric, Drawing& drawing) {
  using Wires = std::vector<std::pair<std::size_t, double>>;
  std::vector<Wires> wires(drawing.boxes.size());
  for (const auto& [ends, rate] : drawing.rates) {
    wires[ends.first].emplace_back(ends.second, rate);
    wires[ends.second].emplace_back(ends.first, -rate);
  }
  std::map<Wires, std::size_t> first;
  std::map<std::size_t, std::vector<std::string>> members;
  std::vector<std::size_t> into(drawing.boxes.size());
  for (std::size_t b = 0; b < drawing.boxes.size(); ++b) {
    into[b] = drawing.boxes[b].shape == "box3d" ? first.emplace(wires[b], b).first->second : b;
    members[into[b]].push_back(drawing.boxes[b].name);
  }
  for (const auto& [box, names] : members)
    if (names.size() > 1)
      drawing.boxes[box].label =
          std::to_string(names.size()) + " nodes\\n" + names.front() + " ... " + names.back();
  for (std::size_t& box : drawing.of_vertex) box = into[box];
  add_rates(fabric, drawing);
}

/// How many wires there are of each rate: in place of labels nobody could read.
std::string rates_in_short(const Drawing& drawing) {
  std::map<std::string, int> count;
  for (const auto& [ends, rate] : drawing.rates)
    ++count[rate > 0 ? base::format_rate(base::BytesPerSecond(rate)) : "broken"];
  std::string text = "one way:";
  for (const auto& [rate, n] : count) text += " " + std::to_string(n) + " of " + rate + ",";
  text.pop_back();
  return text;
}

std::string edge(const Drawing& drawing, std::size_t from, std::size_t to, double rate,
                 const char* more) {
  if (drawing.rates.size() > kLabelled)
    return "  \"" + drawing.boxes[from].name + "\" -> \"" + drawing.boxes[to].name + "\" [" +
           (more + (*more == ',' ? 2 : 0)) + "];\n";
  return "  \"" + drawing.boxes[from].name + "\" -> \"" + drawing.boxes[to].name + "\" [label=\"" +
         (rate > 0 ? base::format_rate(base::BytesPerSecond(rate)) : "broken") + "\"" + more +
         "];\n";
}

}  // namespace

std::string to_dot(const Fabric& fabric) {
  const bool large = fabric.vertices.size() > kDrawnInFull;
  Drawing drawing = boxes_of(fabric, large);
  if (large) merge_alike(fabric, drawing);
  std::string out = "digraph fabric {\n  node [fontname=\"sans-serif\"];\n  edge [fontsize=9];\n";
  if (drawing.rates.size() > kLabelled)
    out += "  layout=sfdp; overlap=prism; label=\"" + rates_in_short(drawing) + "\";\n";
  std::vector<bool> used(drawing.boxes.size(), false);
  for (const std::size_t box : drawing.of_vertex) used[box] = true;
  for (std::size_t b = 0; b < drawing.boxes.size(); ++b) {
    const Drawing::Box& box = drawing.boxes[b];
    if (used[b])
      out += "  \"" + box.name + "\" [shape=" + box.shape + ", label=\"" + box.label + "\"];\n";
  }
  for (const auto& [ends, rate] : drawing.rates) {
    const auto back = drawing.rates.find({ends.second, ends.first});
    const bool alike = back != drawing.rates.end() && back->second == rate;
    if (alike && ends.first < ends.second)
      out += edge(drawing, ends.first, ends.second, rate, ", dir=both");
    if (!alike) out += edge(drawing, ends.first, ends.second, rate, "");
  }
  return out + "}\n";
}

}  // namespace paceline::models
