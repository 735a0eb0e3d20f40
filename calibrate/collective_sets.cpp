// SPDX-License-Identifier: Apache-2.0
#include "calibrate/collective_sets.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/config.hpp"
#include "base/text.hpp"
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
  int ranks = 1, nodes = 1;
  std::string generation, nccl, host;
  std::optional<models::Link> intra, network;
  double ports = 8;
  int devices = 0;
  unsigned algorithms = ~0u;
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
  s.ranks = static_cast<int>(fields.integer("ranks", 2, 1 << 20));
  s.nodes = static_cast<int>(fields.integer("nodes", 1, s.ranks));
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
  if (s.ranks > s.nodes && !s.intra) fields.fail("intra", "is missing: several ranks share a node");
  if (s.nodes > 1 && !s.network) fields.fail("network", "is missing: the set spans several nodes");
  fields.done();
  return s;
}

std::vector<CollectiveRow> read_rows(const std::string& file) {
  const models::Table table = models::parse_csv(base::read_file(file), file);
  const int size = table.find("size_B"), time = table.find("time_us");
  if (size < 0 || time < 0) throw base::Error(file, "needs the columns size_B and time_us");
  const auto number = [&](const models::Cell& c) {
    const double value = base::parse_number(c.text, table.where(c), 0, 1e15);
    if (!(value > 0)) throw base::Error(table.where(c), "must be above 0");
    return value;
  };
  std::vector<CollectiveRow> rows;
  for (const auto& cells : table.rows) {
    CollectiveRow row;
    row.size = base::Bytes(number(cells[static_cast<std::size_t>(size)]));
    row.measured = base::Seconds(number(cells[static_cast<std::size_t>(time)]) * 1e-6);
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
    return std::tie(a.size.value, a.measured.value) < std::tie(b.size.value, b.measured.value);
  });
  return rows;
}

std::vector<CollectiveRow> rows_of_band(const std::vector<CollectiveRow>& rows, std::size_t band) {
  std::vector<CollectiveRow> some;
  for (const CollectiveRow& r : rows)
    if (collective_band(r.size) == band) some.push_back(r);
  return some;
}

void evaluate(Set& s) {
  models::CollectiveGroup group;
  group.ranks = s.ranks;
  group.domains = s.nodes;
  group.per_domain = s.ranks / s.nodes;
  group.intra = s.intra ? &*s.intra : nullptr;
  group.network = s.network ? &*s.network : nullptr;
  group.ports = s.ports;
  group.domain_devices = s.devices;
  group.algorithms = s.algorithms;
  group.host = s.host;
  group.generation = s.generation;
  models::CollectiveTable table;
  if (s.intra) table = models::read_collective_table(*s.intra, s.generation);
  group.table = &table;
  const models::NcclRelease& release = models::nccl_release(s.nccl);
  for (CollectiveRow& r : s.result.rows) {
    r.white_box = models::white_box_time(s.op, r.size, group, release).time + s.harness;
    const models::CollectiveChoice c = models::collective_time(s.op, r.size, group, release);
    r.predicted = c.time + s.harness;
    s.result.tabulated = s.result.tabulated || c.measured;
  }
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    const std::vector<CollectiveRow> rows = rows_of_band(s.result.rows, b);
    s.result.white_box[b] = collective_error(rows, false);
    s.result.predicted[b] = collective_error(rows, true);
  }
}

/// Linear between order statistics.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

std::string cell(const CollectiveError& e) {
  if (e.points == 0) return "          -";
  std::string text =
      base::format_fixed(100 * e.median, 1) + "/" + base::format_fixed(100 * e.p90, 0);
  text.insert(0, text.size() < 11 ? 11 - text.size() : 0, ' ');
  return text;
}

std::string line(std::string label, const std::array<CollectiveError, kCollectiveBands>& box,
                 const std::array<CollectiveError, kCollectiveBands>* table) {
  label.resize(std::max<std::size_t>(label.size(), 34), ' ');
  for (const CollectiveError& e : box) label += cell(e);
  label += "  |";
  if (table != nullptr)
    for (const CollectiveError& e : *table) label += cell(e);
  return label + "\n";
}

template <class Keep>
std::string pooled(const std::string& label, const std::vector<CollectiveSetResult>& results,
                   Keep keep) {
  std::array<CollectiveError, kCollectiveBands> box, table;
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    std::vector<CollectiveRow> rows;
    for (const CollectiveSetResult& r : results)
      if (keep(r))
        for (const CollectiveRow& row : rows_of_band(r.rows, b)) rows.push_back(row);
    box[b] = collective_error(rows, false);
    table[b] = collective_error(rows, true);
  }
  return line(label, box, &table);
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

CollectiveError collective_error(const std::vector<CollectiveRow>& rows, bool table) {
  CollectiveError e;
  if (rows.empty()) return e;
  std::vector<double> errors, ratios;
  for (const CollectiveRow& r : rows) {
    const double ratio = (table ? r.predicted : r.white_box) / r.measured;
    ratios.push_back(ratio - 1);
    errors.push_back(std::max(ratio, 1 / ratio) - 1);
  }
  e.points = static_cast<int>(rows.size());
  e.median = quantile(errors, 0.5);
  e.p90 = quantile(errors, 0.9);
  e.bias = quantile(ratios, 0.5);
  return e;
}

std::vector<CollectiveSetResult> validate_collectives(const std::string& sets_file) {
  const base::Document document = base::read_document(sets_file);
  const std::size_t slash = sets_file.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "" : sets_file.substr(0, slash + 1);
  base::Fields fields(document, document.root);
  std::vector<CollectiveSetResult> results;
  for (const base::Value& item : fields.list("sets")) {
    Set s = parse_set(fields.view(item, "sets"));
    s.result.rows = read_rows(folder + s.result.name + ".csv");
    evaluate(s);
    results.push_back(std::move(s.result));
  }
  fields.done();
  return results;
}

bool collectives_within_bounds(const std::vector<CollectiveSetResult>& results) {
  constexpr std::array<double, kCollectiveBands> kMedian{0.15, 0.15, 0.15, 0.05};
  constexpr std::array<double, kCollectiveBands> kP90{0.35, 0.35, 0.50, 0.15};
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    std::vector<CollectiveRow> rows;
    for (const CollectiveSetResult& r : results)
      if (r.trust == CollectiveClass::A)
        for (const CollectiveRow& row : rows_of_band(r.rows, b)) rows.push_back(row);
    const CollectiveError e = collective_error(rows, false);
    if (e.median > kMedian[b] || e.p90 > kP90[b]) return false;
  }
  return true;
}

std::string collective_report(const std::vector<CollectiveSetResult>& results) {
  std::string out = "median / p90 error in %             ";
  out += "white box: <=64K        <1M       <64M      >=64M  |   with tables\n";
  for (const CollectiveSetResult& r : results)
    out +=
        line(r.name + (r.held_out ? " *" : ""), r.white_box, r.tabulated ? &r.predicted : nullptr);
  using Result = CollectiveSetResult;
  out += pooled("class a", results, [](const Result& r) { return r.trust == CollectiveClass::A; });
  out += pooled("class a, held out", results,
                [](const Result& r) { return r.trust == CollectiveClass::A && r.held_out; });
  out += pooled("class b", results, [](const Result& r) { return r.trust == CollectiveClass::B; });
  out += pooled("class c", results, [](const Result& r) { return r.trust == CollectiveClass::C; });
  out += pooled("tables against other logs", results,
                [](const Result& r) { return r.tabulated && !r.table_itself; });
  return out + "* held out: no constant of the white box was fitted on it\n";
}

}  // namespace paceline::calibrate
