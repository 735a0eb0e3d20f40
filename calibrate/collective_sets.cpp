// SPDX-License-Identifier: Apache-2.0
#include "calibrate/collective_sets.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/config.hpp"
#include "calibrate/robust.hpp"
#include "models/hardware/sourced.hpp"
#include "models/scenario/csv.hpp"

namespace paceline::calibrate {
namespace {

constexpr std::array<base::Named<models::CollectiveOp>, 4> kOps{
    {{"all_reduce", models::CollectiveOp::AllReduce},
     {"all_gather", models::CollectiveOp::AllGather},
     {"reduce_scatter", models::CollectiveOp::ReduceScatter},
     {"all_to_all", models::CollectiveOp::AllToAll}}};
constexpr std::array<base::Named<CollectiveClass>, 3> kClasses{
    {{"a", CollectiveClass::A}, {"b", CollectiveClass::B}, {"c", CollectiveClass::C}}};
constexpr std::array<base::Named<bool>, 2> kSplits{{{"calibration", false}, {"held-out", true}}};

constexpr std::array<base::Named<models::CollectiveAlgorithm>, 2> kAlgorithms{
    {{"ring", models::CollectiveAlgorithm::Ring}, {"tree", models::CollectiveAlgorithm::Tree}}};

/// A set as the file states it.
struct Set {
  CollectiveSetResult result;
  models::CollectiveOp op = models::CollectiveOp::AllReduce;
  int ranks = 0, nodes = 1;  ///< ranks 0: a column of the table
  std::string file, generation, nccl, host;
  std::optional<models::Link> intra, network;
  double ports = 8;
  int devices = 0;
  unsigned algorithms = models::kNcclAlgorithms;
  base::Seconds harness;  ///< added by the benchmark around every call
};

std::optional<models::Link> read_link(base::Fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::nullopt;
  return models::read_link_at(fields, key, {}, nullptr);
}

Set parse_set(base::Fields fields) {
  Set s;
  s.result.name = fields.text("name");
  s.result.source = fields.text("source");
  s.result.trust = fields.choice<CollectiveClass>("class", kClasses);
  s.result.held_out = fields.choice<bool>("split", kSplits);
  s.result.table_itself = fields.flag("table", false);
  s.op = fields.choice<models::CollectiveOp>("op", kOps);
  s.result.node = fields.text("node", "");
  s.file = fields.text("file", s.result.name);
  s.ranks = static_cast<int>(fields.integer("ranks", 2, 1 << 20, 0));
  s.nodes = static_cast<int>(fields.integer("nodes", 1, std::max(s.ranks, 1)));
  if (s.ranks % s.nodes != 0) fields.fail("nodes", "must divide ranks");
  s.generation = fields.text("generation");
  s.nccl = fields.text("nccl");
  s.host = fields.text("host");
  s.intra = read_link(fields, "intra");
  s.network = read_link(fields, "network");
  s.ports = fields.number("ports", 1, 1024, 8);
  s.devices = static_cast<int>(fields.integer("devices", 0, 1024, 0));
  if (fields.has("algorithm"))
    s.algorithms = 1u << static_cast<unsigned>(
                       fields.choice<models::CollectiveAlgorithm>("algorithm", kAlgorithms));
  s.harness = fields.seconds("harness", base::Seconds(0));
  fields.text("note", "");
  if ((s.ranks == 0 || s.ranks > s.nodes) && !s.intra)
    fields.fail("intra", "is missing: several ranks share a node");
  if (s.nodes > 1 && !s.network) fields.fail("network", "is missing: the set spans several nodes");
  fields.done();
  return s;
}

/// Rows of the set's table; a table of several sets names them in its column `set`.
std::vector<CollectiveRow> read_rows(const std::string& file, const Set& set) {
  const models::Table table = models::parse_csv(base::read_file(file), file);
  const int size = table.find("size_B"), time = table.find("time_us");
  const int ranks = table.find("ranks"), name = table.find("set");
  if (size < 0 || time < 0) throw base::Error(file, "needs the columns size_B and time_us");
  if ((ranks < 0) == (set.ranks == 0))
    throw base::Error(file, "needs the column ranks where the set states none, and only there");
  const auto number = [&](const std::vector<models::Cell>& cells, int column) {
    const models::Cell& c = cells[static_cast<std::size_t>(column)];
    const double value = base::parse_number(c.text, table.where(c), 0, 1e15);
    if (!(value > 0)) throw base::Error(table.where(c), "must be above 0");
    return value;
  };
  std::vector<CollectiveRow> rows;
  for (const auto& cells : table.rows) {
    if (name >= 0 && cells[static_cast<std::size_t>(name)].text != set.result.name) continue;
    CollectiveRow row;
    row.size = base::Bytes(number(cells, size));
    row.ranks = set.ranks;
    if (ranks >= 0) {
      const models::Cell& c = cells[static_cast<std::size_t>(ranks)];
      row.ranks = static_cast<int>(base::parse_integer(c.text, table.where(c), 2, 1 << 20));
    }
    row.measured = base::Seconds(number(cells, time) * 1e-6);
    rows.push_back(row);
  }
  if (rows.empty()) throw base::Error(file, "has no row of set " + set.result.name);
  std::sort(rows.begin(), rows.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
    return std::tie(a.ranks, a.size.value, a.measured.value) <
           std::tie(b.ranks, b.size.value, b.measured.value);
  });
  return rows;
}

models::CollectiveGroup group_of(const Set& s, int ranks) {
  models::CollectiveGroup group;
  group.ranks = ranks;
  group.domains = s.nodes;
  group.per_domain = ranks / s.nodes;
  group.intra = s.intra ? &*s.intra : nullptr;
  group.network = s.network ? &*s.network : nullptr;
  group.ports = s.ports;
  group.domain_devices = s.devices;
  group.algorithms = s.algorithms;
  group.host = s.host;
  group.generation = s.generation;
  return group;
}

void evaluate(Set& s) {
  models::CollectiveTable table;
  if (s.intra) table = models::read_collective_table(*s.intra, s.generation);
  const models::NcclRelease& release = models::nccl_release(s.nccl);
  for (CollectiveRow& r : s.result.rows) {
    models::CollectiveGroup group = group_of(s, r.ranks);
    group.table = &table;
    r.white_box = models::white_box_time(s.op, r.size, group, release).time + s.harness;
    const models::CollectiveChoice c = models::collective_time(s.op, r.size, group, release);
    r.predicted = c.time + s.harness;
    s.result.tabulated = s.result.tabulated || c.measured;
  }
}

std::vector<models::CurvePoint> points_of(const Set& s, std::size_t without) {
  std::vector<models::CurvePoint> points;
  for (std::size_t i = 0; i < s.result.rows.size(); ++i) {
    const CollectiveRow& r = s.result.rows[i];
    if (i != without && r.measured > s.harness)
      points.push_back({r.size.value, (r.measured - s.harness).value});
  }
  return points;
}
constexpr std::size_t kNone = ~std::size_t{0};

/// More than 15 % above a larger size: a warm-up spike, which no neighbour can predict.
bool spike(const std::vector<CollectiveRow>& rows, std::size_t row) {
  for (const CollectiveRow& r : rows)
    if (r.size > rows[row].size && rows[row].measured > 1.15 * r.measured) return true;
  return false;
}

/// Every size inside the log's range, from the others.
void leave_out(Set& s) {
  std::vector<CollectiveRow>& rows = s.result.rows;
  if (s.ranks == 0 || rows.size() < 3) return;
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    if (rows[i].size == rows.front().size || rows[i].size == rows.back().size) continue;
    if (spike(rows, i)) {
      ++s.result.spikes;
      continue;
    }
    const models::MonotoneCurve curve(points_of(s, i));
    rows[i].left_out = base::Seconds(curve.at(rows[i].size.value)) + s.harness;
  }
}

/// A set from the nearest other one of the same node, by the rule tables are completed with.
void carry(std::vector<Set>& sets, std::size_t target) {
  Set& t = sets[target];
  if (t.result.node.empty() || t.ranks == 0) return;
  std::vector<models::CollectiveCurve> curves;
  std::vector<const Set*> from;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Set& s = sets[i];
    if (i == target || s.result.node != t.result.node || s.ranks == 0) continue;
    const auto algorithm =
        models::usual_algorithm(s.op, group_of(s, s.ranks), models::nccl_release(s.nccl));
    curves.push_back(
        models::make_curve(s.op, s.ranks, algorithm, s.result.source, points_of(s, kNone)));
    from.push_back(&s);
  }
  const models::NcclRelease& release = models::nccl_release(t.nccl);
  const models::CollectiveGroup here = group_of(t, t.ranks);
  const auto* nearest =
      models::nearest_curve(curves, t.op, t.ranks, models::usual_algorithm(t.op, here, release));
  if (nearest == nullptr) return;
  const Set& source = *from[static_cast<std::size_t>(nearest - curves.data())];
  const models::CollectiveGroup there = group_of(source, source.ranks);
  const auto curve = models::carry_over(*nearest, there, t.op, here, release);
  for (CollectiveRow& r : t.result.rows)
    if (r.size >= curve.low && r.size <= curve.high)
      r.carried = models::table_time(curve, r.size, here, release).time + t.harness;
}

}  // namespace

std::size_t collective_band(base::Bytes size) {
  constexpr double kKiB = 1024;
  if (size.value <= 64 * kKiB) return 0;
  if (size.value < kKiB * kKiB) return 1;
  return size.value < 64 * kKiB * kKiB ? 2 : 3;
}

std::string_view collective_band_name(std::size_t band) {
  constexpr std::array<std::string_view, kCollectiveBands> kNames{"<=64K", "<1M", "<64M", ">=64M"};
  return kNames.at(band);
}

std::optional<base::Seconds> collective_prediction(const CollectiveRow& row,
                                                   CollectiveModel model) {
  switch (model) {
    case CollectiveModel::WhiteBox:
      return row.white_box;
    case CollectiveModel::Table:
      return row.predicted;
    case CollectiveModel::LeftOut:
      return row.left_out;
    case CollectiveModel::Carried:
      return row.carried;
  }
  return std::nullopt;
}

CollectiveError collective_error(const std::vector<CollectiveRow>& rows, CollectiveModel model) {
  CollectiveError e;
  std::vector<double> errors, ratios;
  for (const CollectiveRow& r : rows) {
    const auto predicted = collective_prediction(r, model);
    if (!predicted) continue;
    const double ratio = *predicted / r.measured;
    ratios.push_back(ratio - 1);
    errors.push_back(std::max(ratio, 1 / ratio) - 1);
  }
  if (errors.empty()) return e;
  e.points = static_cast<int>(errors.size());
  e.median = quantile(errors, 0.5);
  e.p90 = quantile(errors, 0.9);
  e.bias = quantile(ratios, 0.5);
  return e;
}

CollectiveErrors collective_errors(const std::vector<CollectiveRow>& rows, CollectiveModel model) {
  CollectiveErrors errors;
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    std::vector<CollectiveRow> some;
    for (const CollectiveRow& r : rows)
      if (collective_band(r.size) == b) some.push_back(r);
    errors[b] = collective_error(some, model);
  }
  return errors;
}

std::vector<CollectiveSetResult> validate_collectives(const std::string& sets_file) {
  const base::Document document = base::read_document(sets_file);
  const std::size_t slash = sets_file.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "" : sets_file.substr(0, slash + 1);
  base::Fields fields(document, document.root);
  std::vector<Set> sets;
  for (const base::Value& item : fields.list("sets")) {
    Set s = parse_set(fields.view(item, "sets"));
    s.result.rows = read_rows(folder + s.file + ".csv", s);
    evaluate(s);
    leave_out(s);
    sets.push_back(std::move(s));
  }
  fields.done();
  for (std::size_t i = 0; i < sets.size(); ++i) carry(sets, i);
  std::vector<CollectiveSetResult> results;
  for (Set& s : sets) results.push_back(std::move(s.result));
  return results;
}

}  // namespace paceline::calibrate
