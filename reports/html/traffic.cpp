// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "reports/html/view.hpp"

namespace paceline::reports {

namespace {

constexpr std::size_t kMatrixLanes = 256;
constexpr std::uint32_t kNobody = 0xffffffffU;

/// By message, the first other lane whose task waits for it.
std::vector<std::uint32_t> receivers(const sim::TaskGraph& graph) {
  std::vector<std::uint32_t> to(graph.tasks.size(), kNobody);
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    for (const sim::TaskId d : graph.dependencies(t)) {
      const sim::Task& sent = graph.tasks[d];
      if (sent.kind == sim::TaskKind::Message && sent.lane != graph.tasks[t].lane &&
          to[d] == kNobody)
        to[d] = graph.tasks[t].lane;
    }
  }
  return to;
}

}  // namespace

void write_traffic_matrix(base::JsonWriter& json, const sim::Prediction& p,
                          const StepWindow& window) {
  const sim::TaskGraph& graph = p.graph;
  if (graph.lanes.size() > kMatrixLanes) return;
  const std::vector<std::uint32_t> to = receivers(graph);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> cells;
  for (sim::TaskId t = 0; t < graph.tasks.size(); ++t) {
    const sim::Task& task = graph.tasks[t];
    const sim::Segment& segment = graph.segments[task.segment];
    const double bytes = std::accumulate(segment.bytes.begin(), segment.bytes.end(), 0.0);
    if (bytes <= 0) continue;
    cells[{task.lane, to[t] == kNobody ? task.lane : to[t]}] +=
        bytes * static_cast<double>(graph.lanes[task.lane].members) / window.piece;
  }
  json.key("traffic").begin_array();
  for (const auto& [between, bytes] : cells) {
    json.begin_array(true).value(static_cast<std::int64_t>(between.first));
    json.value(static_cast<std::int64_t>(between.second)).value(rounded(bytes, 6)).end_array();
  }
  json.end_array();
}

}  // namespace paceline::reports
