// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace paceline::models {
namespace {

constexpr std::array<base::Named<CollectiveOp>, 3> kTableOps{
    {{"all_reduce", CollectiveOp::AllReduce},
     {"all_gather", CollectiveOp::AllGather},
     {"reduce_scatter", CollectiveOp::ReduceScatter}}};
constexpr std::array<base::Named<CollectiveAlgorithm>, 3> kTableAlgorithms{
    {{"ring", CollectiveAlgorithm::Ring},
     {"tree", CollectiveAlgorithm::Tree},
     {"nvls", CollectiveAlgorithm::Nvls}}};
// The release whose white box carries curves over: it has every algorithm a table may hold.
constexpr std::string_view kReference = "2.21";
constexpr double kFade = 2.8;  // ln 16
// Size at which a ring and an in-switch all-reduce are told apart.
constexpr double kLarge = 1e9;

void parse_points(base::Fields& fields, CollectiveCurve& c) {
  const double most = 1e15;
  for (const base::Value& item : fields.list("points_B_us")) {
    if (item.kind != base::Value::Kind::List || item.items.size() != 2)
      throw base::Error(fields.where(item, "points_B_us"), "a point is [bytes, microseconds]");
    double pair[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const base::Value& v = item.items[i];
      pair[i] = base::parse_number(v.text, fields.where(v, "points_B_us"), 0, most);
      if (v.kind != base::Value::Kind::Scalar || !(pair[i] > 0))
        throw base::Error(fields.where(v, "points_B_us"), "must be a number above 0");
    }
    c.points.push_back({pair[0], pair[1] * 1e-6});
  }
  if (c.points.empty()) fields.fail("points_B_us", "is empty", "a curve needs at least one point");
}

void set_curve(CollectiveCurve& c) {
  c.curve = MonotoneCurve(c.points);
  c.low = base::Bytes(c.curve.low());
  c.high = base::Bytes(c.curve.high());
}

CollectiveGroup inside(int ranks, const Link& link, std::string_view generation) {
  CollectiveGroup g;
  g.ranks = g.per_domain = ranks;
  g.intra = &link;
  g.generation = generation;
  return g;
}

}  // namespace

const CollectiveCurve* CollectiveTable::find(CollectiveOp op, int ranks) const {
  if (ranks < 0) return nullptr;
  if (ranks > kMaxRanks) {
    for (const CollectiveCurve& c : curves)
      if (c.op == op && c.ranks == ranks) return &c;
    return nullptr;
  }
  const std::uint8_t position =
      index[static_cast<std::size_t>(op)][static_cast<std::size_t>(ranks)];
  return position == 0 ? nullptr : &curves[position - 1u];
}

void add_curve(CollectiveTable& table, CollectiveCurve curve) {
  const auto op = static_cast<std::size_t>(curve.op);
  PACELINE_CHECK(curve.ranks > 0 && table.curves.size() < 255);
  if (curve.ranks <= CollectiveTable::kMaxRanks)
    table.index.at(op)[static_cast<std::size_t>(curve.ranks)] =
        static_cast<std::uint8_t>(table.curves.size() + 1);
  table.curves.push_back(std::move(curve));
}

CollectiveTable parse_collective_table(const base::Document& document) {
  base::Fields fields(document, document.root);
  CollectiveTable table;
  table.name = document.file;
  fields.text_list("links");
  table.devices = static_cast<int>(fields.integer("devices", 0, CollectiveTable::kMaxRanks, 0));
  for (const base::Value& item : fields.list("curves")) {
    base::Fields entry = fields.view(item, "curves");
    CollectiveCurve c;
    c.op = entry.choice<CollectiveOp>("op", kTableOps);
    c.ranks = static_cast<int>(entry.integer("ranks", 2, CollectiveTable::kMaxRanks));
    c.algorithm = entry.choice<CollectiveAlgorithm>("algorithm", kTableAlgorithms);
    c.source = entry.text("source");
    parse_points(entry, c);
    entry.done();
    set_curve(c);
    if (table.find(c.op, c.ranks) != nullptr)
      entry.fail("ranks", "has a curve of this op already", "keep one curve per op and ranks");
    add_curve(table, std::move(c));
  }
  fields.done();
  return table;
}

CollectiveTable read_collective_table(const Link& link, std::string_view generation) {
  CollectiveTable table;
  for (const std::string& name : spec_names("collective")) {
    const std::string path = spec_path("collective", name);
    // Most tables are of other links: a look at the text spares parsing them.
    const std::string text = base::read_file(path);
    if (text.find(link.name) == std::string::npos) continue;
    const base::Document document =
        path.ends_with(".json") ? base::parse_json(text, path) : base::parse_yaml(text, path);
    base::Fields fields(document, document.root);
    const std::vector<std::string> links = fields.text_list("links");
    if (std::find(links.begin(), links.end(), link.name) == links.end()) continue;
    table = parse_collective_table(document);
    table.name = name;
    complete_table(table, link, generation);
    break;
  }
  table.link = link.name;
  return table;
}

CollectiveAlgorithm usual_algorithm(CollectiveOp op, const CollectiveGroup& group,
                                    const NcclRelease& release) {
  return white_box_time(op, base::Bytes(kLarge), group, release).algorithm;
}

const CollectiveCurve* nearest_curve(std::span<const CollectiveCurve> curves, CollectiveOp op,
                                     int ranks, CollectiveAlgorithm algorithm) {
  const CollectiveCurve* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const CollectiveCurve& c : curves) {
    const double apart = std::abs(std::log2(static_cast<double>(ranks) / c.ranks));
    if (c.derived || c.algorithm != algorithm || apart > 1) continue;
    const double distance = apart + (c.op == op ? 0 : 2);
    if (distance < least) {
      least = distance;
      best = &c;
    }
  }
  return best;
}

CollectiveCurve carry_over(const CollectiveCurve& from, const CollectiveGroup& there,
                           CollectiveOp op, const CollectiveGroup& here,
                           const NcclRelease& release) {
  CollectiveCurve c;
  c.op = op;
  c.ranks = here.ranks;
  c.algorithm = from.algorithm;
  c.source = from.source;
  c.derived = true;
  for (const CurvePoint& p : from.points) {
    const base::Bytes size(p.x * here.ranks / from.ranks);
    const double ratio =
        from.curve.at(p.x) / white_box_time(from.op, base::Bytes(p.x), there, release).time.value;
    c.points.push_back({size.value, ratio * white_box_time(op, size, here, release).time.value});
  }
  set_curve(c);
  return c;
}

CollectiveCurve make_curve(CollectiveOp op, int ranks, CollectiveAlgorithm algorithm,
                           std::string source, std::vector<CurvePoint> points) {
  CollectiveCurve c;
  c.op = op;
  c.ranks = ranks;
  c.algorithm = algorithm;
  c.source = std::move(source);
  c.points = std::move(points);
  set_curve(c);
  return c;
}

void complete_table(CollectiveTable& table, const Link& link, std::string_view generation) {
  const std::size_t measured = table.curves.size();
  int most = 0;
  for (std::size_t i = 0; i < measured; ++i) most = std::max(most, table.curves[i].ranks);
  most = std::min({2 * most, 16, CollectiveTable::kMaxRanks});
  const NcclRelease& release = nccl_release(kReference);
  for (const auto& [name, op] : kTableOps)
    for (int ranks = 2; ranks <= most; ++ranks) {
      if (table.find(op, ranks) != nullptr) continue;
      const CollectiveGroup here = inside(ranks, link, generation);
      const CollectiveCurve* from =
          nearest_curve(table.curves, op, ranks, usual_algorithm(op, here, release));
      if (from == nullptr) continue;
      const CollectiveGroup there = inside(from->ranks, link, generation);
      add_curve(table, carry_over(*from, there, op, here, release));
    }
}

CollectiveChoice table_time(const CollectiveCurve& curve, base::Bytes size,
                            const CollectiveGroup& group, const NcclRelease& release) {
  CollectiveChoice choice;
  choice.algorithm = curve.algorithm;
  choice.measured = true;
  const base::Bytes end = std::clamp(size, curve.low, curve.high);
  choice.time = base::Seconds(curve.curve.at(size.value));
  if (end != size) {
    // The white box brings its own latency below and its own bandwidth above the measured range.
    const double box = white_box_time(curve.op, size, group, release).time.value;
    const double ratio =
        choice.time.value / white_box_time(curve.op, end, group, release).time.value;
    // Slowness of one protocol at the low end fades within a decade or two of smaller sizes;
    // keeping the ratio where it is below 1 keeps the time monotone.
    const double fade = size < end && ratio > 1 ? 1 / (1 + std::log(end / size) / kFade) : 1;
    choice.time = base::Seconds(box * std::pow(ratio, fade));
  }
  choice.latency = std::min(choice.time, base::Seconds(curve.curve.at(1)));
  return choice;
}

}  // namespace paceline::models
