// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/failure_trace.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/message.hpp"
#include "models/hardware/device.hpp"
#include "models/scenario/csv.hpp"

namespace paceline::models {
namespace {

constexpr std::size_t kMostEvents = 1'000'000;
constexpr std::size_t kMostTraceBytes = 64U << 20;
constexpr std::array<base::Named<FailureKind>, 7> kFailureKinds{{{"device", FailureKind::Device},
                                                                 {"node", FailureKind::Node},
                                                                 {"link", FailureKind::Link},
                                                                 {"site", FailureKind::Site},
                                                                 {"job", FailureKind::Job},
                                                                 {"slow", FailureKind::Slow},
                                                                 {"spot", FailureKind::Spot}}};

int nodes_of(const Cluster& cluster) {
  int nodes = 0;
  for (const NodeGroup& group : cluster.groups) nodes += group.nodes;
  return nodes;
}

FailureKind kind_of(const Table& table, const Cell& cell) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kFailureKinds) {
    if (name == cell.text) return kind;
    names.emplace_back(name);
  }
  throw base::Error(table.where(cell), "unknown kind " + base::quote(cell.text),
                    base::suggest(cell.text, names, "one of"));
}

int site_of(const Table& table, const Cell& cell, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const SiteSpec& site : cluster.fabric.sites) {
    if (site.nodes == 0) break;
    if (site.name == cell.text) return static_cast<int>(names.size());
    names.push_back(site.name);
  }
  if (names.empty())
    throw base::Error(table.where(cell), "the cluster has no sites", "another kind");
  throw base::Error(table.where(cell), "unknown site " + base::quote(cell.text),
                    base::suggest(cell.text, names, "one of"));
}

int part_of(const Table& table, const Cell& cell, FailureKind kind, const Cluster& cluster) {
  if (kind == FailureKind::Job) {
    if (cell.text.empty()) return -1;
    throw base::Error(table.where(cell), "a job has no parts", "leave the cell empty");
  }
  if (kind == FailureKind::Site) return site_of(table, cell, cluster);
  const int count = kind == FailureKind::Device ? cluster.devices() : nodes_of(cluster);
  return static_cast<int>(base::parse_integer(cell.text, table.where(cell), 0, count - 1));
}

/// Of the columns that a trace must have, and no others.
std::array<std::size_t, 4> columns_of(const Table& table) {
  constexpr std::array<std::string_view, 4> kNames{"time", "kind", "part", "duration"};
  std::array<std::size_t, 4> columns{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const int found = table.find(kNames[i]);
    if (found < 0)
      throw base::Error(table.where(table.header.front()),
                        "there is no column " + base::quote(kNames[i]),
                        "time, kind, part and duration");
    columns[i] = static_cast<std::size_t>(found);
  }
  for (const Cell& name : table.header)
    if (std::find(kNames.begin(), kNames.end(), name.text) == kNames.end())
      throw base::Error(table.where(name), "unknown column " + base::quote(name.text),
                        "time, kind, part and duration");
  return columns;
}

/// Refuses what happens before, or to a part that is still away.
struct Order {
  const Cluster& cluster;
  double last = 0;
  std::map<std::pair<FailureKind, int>, double> away{};  ///< until when
  /// Devices and spot nodes are away with their node.
  std::pair<FailureKind, int> what(const FailureEvent& event) const {
    if (event.kind == FailureKind::Device)
      return {FailureKind::Node, cluster.place_of(event.part).node};
    return {event.kind == FailureKind::Spot ? FailureKind::Node : event.kind, event.part};
  }

  void check(const Table& table, const Cell& time, const Cell& part, const FailureEvent& event) {
    if (event.at < last)
      throw base::Error(table.where(time), "the clock goes backwards", "rows in order of time");
    last = event.at;
    double& until = away[what(event)];
    if (event.at < until)
      throw base::Error(table.where(part),
                        event.kind == FailureKind::Device ? "fails while its node is still away"
                                                          : "fails while it is still away",
                        "a later time, or a shorter duration above");
    until = event.at + std::max(event.duration, 0.0);
  }
};

}  // namespace

std::string_view to_text(FailureKind kind) {
  return kFailureKinds[static_cast<std::size_t>(kind)].first;
}

std::vector<FailureEvent> read_failure_trace(const std::string& path, const Cluster& cluster,
                                             const MissingKeys& missing) {
  const Table table = parse_csv(base::read_file(path, kMostTraceBytes), base::one_line(path));
  const auto [time, kind, part, duration] = columns_of(table);
  if (table.rows.empty())
    throw base::Error(table.where(table.header.front()), "holds no failure", "a row below it");
  if (table.rows.size() > kMostEvents)
    throw base::Error(table.where(table.rows[kMostEvents].front()), "too many failures",
                      std::to_string(kMostEvents) + " at most");
  std::vector<FailureEvent> events;
  Order order{.cluster = cluster};
  for (const std::vector<Cell>& row : table.rows) {
    FailureEvent event;
    event.at = base::parse_seconds(row[time].text, table.where(row[time])).value;
    event.kind = kind_of(table, row[kind]);
    event.part = part_of(table, row[part], event.kind, cluster);
    if (const std::string_view key = missing[static_cast<std::size_t>(event.kind)]; !key.empty())
      throw base::Error(
          table.where(row[kind]),
          "the scenario does not say failures." + std::string(key) + ", which this kind needs",
          "failures." + std::string(key) + ", or another kind");
    if (!row[duration].text.empty()) {
      event.duration = base::parse_seconds(row[duration].text, table.where(row[duration])).value;
      if (event.kind == FailureKind::Job)
        throw base::Error(table.where(row[duration]), "a job is not away for a time",
                          "leave the cell empty: detect and restart say how long it stands");
    }
    order.check(table, row[time], row[part], event);
    events.push_back(event);
  }
  return events;
}

}  // namespace paceline::models
