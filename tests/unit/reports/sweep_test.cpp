// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "models/scenario/csv.hpp"
#include "tests/temporary_folder.hpp"

using namespace paceline;
using namespace paceline::reports;
using Catch::Matchers::Contains;

namespace {

SweepHeader header(std::size_t points) {
  SweepHeader h;
  h.version = PACELINE_VERSION;
  h.command = "paceline sweep s.yaml --over parallel.tp=1,2 --engine reference";
  h.scenario = "a scenario";
  h.file = "s.yaml";
  h.hash = "0123456789abcdef";
  h.stack = "generic";
  h.profiles = {"h100-sxm"};
  h.engine = "reference";
  h.paths = {"parallel.tp", "schedule"};
  h.points = points;
  return h;
}

SweepRow row(std::size_t point, PointStatus status, double step, double bytes) {
  SweepRow r;
  r.point = point;
  r.values = {std::to_string(point + 1), "{name: \"1f1b\", chunks: 2}"};
  r.status = status;
  if (!r.computed()) {
    r.reason = "a reason, with \"quotes\" # and more";
    return r;
  }
  r.hash = "fedcba9876543210";
  r.stack = "generic";
  r.profiles = {"h100-sxm"};
  r.devices = 8;
  r.step_time = step;
  r.tokens_per_s = 1e6 / step;
  r.mfu = 0.1 + 0.2;
  r.hfu = 0.5;
  r.reserved_bytes = bytes;
  r.capacity_bytes = 80e9;
  if (status == PointStatus::DoesNotFit) r.reason = "needs too much";
  return r;
}

SweepReport report() {
  using S = PointStatus;
  return make_sweep_report(
      header(8), {row(7, S::Crashed, 0, 0), row(0, S::Fits, 2, 30e9), row(1, S::Fits, 1, 60e9),
                  row(2, S::DoesNotFit, 0.5, 90e9), row(3, S::Fits, 2, 30e9),
                  row(4, S::Fits, 1.5, 70e9), row(5, S::BadInput, 0, 0), row(6, S::Fits, 3, 10e9)});
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

struct TemporaryFile {
  scratch::Folder folder;
  std::string path = folder.file("rows.jsonl");
  explicit TemporaryFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
};

std::string complaint(const std::string& text, const SweepHeader& h) {
  const TemporaryFile file(text);
  try {
    read_sweep_rows(file.path, h);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the front has every fitting point that none beats in time and memory", "[reports]") {
  const SweepReport r = report();
  CHECK(r.pareto == std::vector<std::size_t>{0, 1, 3, 6});  // 0 and 3 are equal, 4 is beaten by 1
  for (std::size_t p = 0; p < r.rows.size(); ++p) CHECK(r.rows[p].point == p);
  CHECK(pareto_front({row(0, PointStatus::DoesNotFit, 1, 1)}).empty());
}

TEST_CASE("a front may be of three quantities, and leaves out points that lack one", "[reports]") {
  std::vector<SweepRow> rows{row(0, PointStatus::Fits, 2, 30e9), row(1, PointStatus::Fits, 1, 60e9),
                             row(2, PointStatus::Fits, 3, 90e9), row(3, PointStatus::Fits, 9, 1e9)};
  for (SweepRow& r : rows) r.step_j = 10.0 * static_cast<double>(r.point + 1);
  rows[2].billion_tokens_usd = 1;
  rows[0].billion_tokens_usd = 2;
  rows[1].billion_tokens_usd = 3;
  CHECK(pareto_front(rows, {"time", "energy"}) == std::vector<std::size_t>{0, 1});
  CHECK(pareto_front(rows, {"time", "cost"}) == std::vector<std::size_t>{0, 1, 2});
  CHECK(pareto_front(rows, {"time", "cost", "energy"}) == std::vector<std::size_t>{0, 1, 2});
  rows[2].step_time = 1;
  CHECK(pareto_front(rows, {"cost", "time"}) == std::vector<std::size_t>{2});
  CHECK(parse_objectives("cost,time,memory").size() == 3);
  CHECK_THROWS_AS(parse_objectives("time"), base::Error);
  CHECK_THROWS_AS(parse_objectives("time,time"), base::Error);
  CHECK_THROWS_AS(parse_objectives("time,speed"), base::Error);
}

TEST_CASE("rows read back from JSON lines as they were", "[reports]") {
  const SweepReport r = report();
  const std::string text = sweep_jsonl(r);
  const TemporaryFile file(text);
  const auto known = read_sweep_rows(file.path, r.header);
  REQUIRE(known.size() == 7);  // a crashed point is tried again
  for (const auto& [values, found] : known) {
    CHECK(sweep_row_line(r.header, found) == sweep_row_line(r.header, r.rows[found.point]));
  }
  CHECK_THAT(lines(text).back(), Contains("\"complete\"") && Contains("true"));
  for (const std::string& line : lines(text)) CHECK_NOTHROW(base::parse_json(line, "line"));
}

TEST_CASE("a file that was cut short gives its whole rows", "[reports]") {
  const SweepReport r = report();
  const std::string text = sweep_jsonl(r);
  std::size_t end = 0;
  for (int i = 0; i < 4; ++i) end = text.find('\n', end) + 1;  // header and three rows
  for (const std::size_t more : {0u, 1u, 40u}) {
    const TemporaryFile file(text.substr(0, end + more));
    CHECK(read_sweep_rows(file.path, r.header).size() == 3);
  }
}

TEST_CASE("rows of another question are refused or left out", "[reports]") {
  const SweepReport r = report();
  const std::string text = sweep_jsonl(r);
  CHECK(complaint(text, r.header).empty());
  SweepHeader other = r.header;
  other.hash = "0";
  CHECK_THAT(complaint(text, other), Contains("another scenario"));
  other = r.header;
  other.engine = "simgrid";
  other.fidelity = "fluid";
  CHECK_THAT(complaint(text, other), Contains("another engine"));
  other = r.header;
  other.version = "9";
  CHECK_THAT(complaint(text, other), Contains("another version"));
  CHECK_THAT(complaint("{}\n", r.header), Contains("--resume takes"));
  CHECK_THAT(complaint("", r.header), Contains("no sweep of this version"));
  CHECK_THAT(complaint("point,a\n", r.header), Contains(":1:1: syntax error"));
  const auto all = lines(text);
  CHECK_THAT(complaint(all[0] + "\n" + all[1] + "\n" + all[1] + "\n", r.header),
             Contains(":3:1: a row") && Contains("was there before"));
  std::string wrong = all[1];
  wrong.replace(wrong.find("fits"), 4, "fitz");
  CHECK_THAT(complaint(all[0] + "\n" + wrong + "\n", r.header), Contains("did you mean 'fits'"));
  SweepHeader paths = r.header;
  paths.paths.pop_back();
  const TemporaryFile file(text);
  CHECK(read_sweep_rows(file.path, paths).empty());
}

TEST_CASE("CSV is a table any reader takes, with what it answers above", "[reports]") {
  const SweepReport r = report();
  const std::string text = sweep_csv(r);
  const models::Table table = models::parse_csv(text, "sweep.csv");
  REQUIRE(table.rows.size() == 8);
  const auto cell = [&](std::size_t p, const char* column) {
    return table.rows[p][static_cast<std::size_t>(table.find(column))].text;
  };
  CHECK(cell(0, "parallel.tp") == "1");
  CHECK(cell(0, "schedule") == r.rows[0].values[1]);
  CHECK(cell(1, "pareto") == "1");
  CHECK(cell(4, "pareto") == "0");
  CHECK(std::stod(cell(0, "mfu")) == 0.1 + 0.2);
  CHECK(cell(5, "step_time_s").empty());
  CHECK(cell(5, "reason") == r.rows[5].reason);
  CHECK_THAT(text, Contains("# command: " + r.header.command) && Contains(r.header.hash) &&
                       Contains("h100-sxm") && Contains("reference") && Contains(PACELINE_VERSION));
}

TEST_CASE("the table fits 80 columns and marks the front", "[reports]") {
  const SweepReport r = report();
  const std::string text = sweep_text(r, {});
  for (const std::string& line : lines(text)) {
    INFO(line);
    if (!line.starts_with("command")) CHECK(columns(line) <= 80);
  }
  const auto marked = [&](const std::string& line) { return line.starts_with("*  "); };
  const auto all = lines(text);
  CHECK(std::count_if(all.begin(), all.end(), marked) == 4);
  CHECK_THAT(text, Contains("8 points over parallel.tp, schedule: 5 fit, 1 does not fit") &&
                       Contains("crashed: a reason") && Contains("does not fit") &&
                       Contains("fastest   --set parallel.tp=2") && Contains(r.header.hash));
}

TEST_CASE("of many points the table shows the front and the fastest", "[reports]") {
  std::vector<SweepRow> rows;
  for (std::size_t p = 0; p < 500; ++p) {
    rows.push_back(row(p, PointStatus::Fits, 1000.0 - static_cast<double>(p), 30e9));
  }
  rows[7].reserved_bytes = 1e9;  // slow and small: on the front
  const std::string text = sweep_text(make_sweep_report(header(500), rows), {});
  CHECK(lines(text).size() < 80);
  CHECK_THAT(text, Contains("\n*     8 ") && Contains("\n*   500 ") && Contains("has all 500"));
}

TEST_CASE("a point whose process crashes is one row, the others are as ever", "[reports]") {
  const models::Sweep sweep =
      models::make_sweep(base::parse_yaml("model: {preset: gpt2}\ncluster: {preset: single-a100}\n"
                                          "batch: {global: 16, sequence: 1024}\n",
                                          "base.yaml"),
                         {models::parse_axis("batch.micro=1,2,4,3,8,16")}, false);
  const SweepHeader head = make_sweep_header(sweep, {}, "paceline sweep");
  const auto predict = [&](std::size_t point) {
    if (point == 1) {
      std::signal(SIGSEGV, SIG_DFL);  // the test runner has a handler
      std::raise(SIGSEGV);
    }
    if (point == 2) _exit(7);
    if (point == 4) throw std::runtime_error("a bug");
    return predict_point(sweep, point, {});
  };
  std::vector<SweepRow> rows;
  CHECK(run_points(sweep, head, {0, 1, 2, 3, 4, 5}, 2, predict,
                   [&](SweepRow row) { rows.push_back(std::move(row)); }));
  const SweepReport all = make_sweep_report(head, rows);
  REQUIRE(all.rows.size() == 6);
  const std::vector<std::pair<PointStatus, std::string>> expected{
      {PointStatus::Fits, ""},
      {PointStatus::Crashed, "signal 11 (Segmentation fault)"},
      {PointStatus::Crashed, "exit status 7"},
      {PointStatus::BadInput, "3"},  // does not divide the batch
      {PointStatus::Crashed, "a bug"},
      {PointStatus::Fits, ""}};
  for (std::size_t p = 0; p < expected.size(); ++p) {
    INFO(p);
    CHECK(all.rows[p].point == p);
    CHECK(all.rows[p].status == expected[p].first);
    CHECK_THAT(all.rows[p].reason, Contains(expected[p].second));
    if (!all.rows[p].computed()) continue;
    CHECK(sweep_row_line(head, all.rows[p]) == sweep_row_line(head, predict_point(sweep, p, {})));
  }
}

TEST_CASE("of many points that share processes a crash costs one row", "[reports]") {
  std::vector<std::string> values;
  for (int i = 1; i <= 100; ++i) values.push_back(std::to_string(i));
  const models::Sweep sweep =
      models::make_sweep(base::parse_yaml("name: x\n", "x.yaml"), {{"batch.micro", values}}, false);
  SweepHeader head = header(sweep.points);
  head.paths = {"batch.micro"};
  std::vector<std::size_t> points;
  for (std::size_t p = 0; p < sweep.points; ++p) points.push_back(p);
  const auto predict = [&](std::size_t point) {
    if (point == 37) std::raise(SIGKILL);
    SweepRow one;
    one.point = point;
    one.values = models::point_values(sweep, point);
    one.status = PointStatus::BadInput;
    return one;
  };
  std::vector<SweepRow> rows;
  CHECK(run_points(sweep, head, points, 2, predict,
                   [&](SweepRow row) { rows.push_back(std::move(row)); }));
  const SweepReport all = make_sweep_report(head, rows);
  REQUIRE(all.rows.size() == points.size());
  for (std::size_t p = 0; p < points.size(); ++p) {
    CHECK(all.rows[p].point == p);
    CHECK(all.rows[p].status == (p == 37 ? PointStatus::Crashed : PointStatus::BadInput));
  }
}
