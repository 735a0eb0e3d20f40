// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "base/config.hpp"
#include "base/error.hpp"
#include "reports/html/library.hpp"
#include "reports/html/page.hpp"
#include "reports/html/report.hpp"
#include "reports/html/view.hpp"
#include "tests/scenario_of.hpp"
#include "tests/unit/reports/example.hpp"

using namespace paceline;

namespace {

double as_number(const base::Value& value) { return std::strtod(value.text.c_str(), nullptr); }

double view_number(const base::Value& from, const char* path) {
  const base::Value* found = base::find_path(from, path);
  INFO("missing " << path);
  REQUIRE(found != nullptr);
  return as_number(*found);
}

double sum_of(const base::Value& list) {
  double total = 0;
  for (const base::Value& item : list.items) total += as_number(item);
  return total;
}

base::Document view_of(const models::Scenario& scenario, const sim::Prediction& prediction) {
  return base::parse_json(reports::report_view(scenario, prediction), "view.json");
}

sim::Prediction predicted_run(const models::Scenario& scenario) {
  sim::PredictOptions options;
  options.energy = true;
  options.inner = true;
  return sim::predict(scenario, options);
}

constexpr const char* kFourStages =
    "parallel: {pp: 4, dp: 2}\nschedule: {name: 1f1b}\nbatch: {global: 32, micro: 2, sequence: "
    "512}\n";

}  // namespace

TEST_CASE("every span of a small run is in its report, where the timeline has it", "[reports]") {
  const sim::Prediction p = tests::example_prediction();
  const base::Document view = view_of(tests::example_scenario(), p);
  const double unit = view_number(view.root, "spans.unit_s");
  CHECK(view_number(view.root, "spans.makespan") * unit == Approx(p.timeline.makespan));
  std::size_t spans = 0;
  double busy = 0;
  for (const base::Value& row : base::find_path(view.root, "spans.rows")->items) {
    const base::Value& lengths = *base::find_path(row, "length");
    spans += lengths.items.size();
    busy += sum_of(lengths) * unit;
    // Gaps and lengths lead to the end of the last span, which no span leaves.
    CHECK((sum_of(*base::find_path(row, "gap")) + sum_of(lengths)) * unit <=
          p.timeline.makespan + unit);
    CHECK(base::find_path(row, "microbatch")->items.size() == lengths.items.size());
    CHECK(base::find_path(row, "kind")->items.size() == lengths.items.size());
  }
  std::size_t tasks = 0;
  double seconds = 0;
  for (const sim::Task& task : p.graph.tasks) {
    if (task.stream == sim::Stream::None) continue;
    ++tasks;
    seconds += task.seconds;
  }
  CHECK(spans == tasks);
  CHECK(busy == Approx(seconds));
}

TEST_CASE("the memory curves of a report reach the peaks of the result", "[reports]") {
  const models::Scenario scenario = tests::small_gpt(kFourStages);
  const sim::Prediction p = predicted_run(scenario);
  const base::Document view = view_of(scenario, p);
  const double unit = view_number(view.root, "memory.unit_bytes");
  const auto bins = static_cast<std::size_t>(view_number(view.root, "memory.bins"));
  const auto& lanes = base::find_path(view.root, "memory.lanes")->items;
  REQUIRE(lanes.size() == p.result.memory.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::vector<double> totals(bins, 0);
    for (const base::Field& part : base::find_path(lanes[i], "parts")->fields) {
      const auto& list = part.value.items;
      REQUIRE((list.size() == 1 || list.size() == bins));
      for (std::size_t b = 0; b < bins; ++b)
        totals[b] += as_number(list[list.size() == 1 ? 0 : b]) * unit;
    }
    CHECK(*std::max_element(totals.begin(), totals.end()) ==
          Approx(p.result.memory[i].peak_bytes).margin(sim::kMemoryParts * unit));
  }
}

TEST_CASE("the power curve of a report integrates to the energy of the step", "[reports]") {
  const models::Scenario scenario = tests::small_gpt(kFourStages);
  const sim::Prediction p = predicted_run(scenario);
  REQUIRE(p.result.energy);
  const base::Document view = view_of(scenario, p);
  const double seconds =
      view_number(view.root, "power.to_s") - view_number(view.root, "power.from_s");
  double joules = 0;
  for (const base::Field& part : base::find_path(view.root, "power.watts")->fields)
    joules += sum_of(part.value) / static_cast<double>(part.value.items.size()) * seconds;
  CHECK(joules == Approx(p.result.energy->step.middle).epsilon(1e-3));
}

TEST_CASE("the traffic matrix of a report holds all bytes, those between stages off its diagonal",
          "[reports]") {
  const models::Scenario scenario = tests::small_gpt(kFourStages);
  const sim::Prediction p = predicted_run(scenario);
  const base::Document view = view_of(scenario, p);
  double all = 0, between = 0;
  for (const base::Value& cell : base::find_path(view.root, "traffic")->items) {
    all += as_number(cell.items.at(2));
    if (cell.items.at(0).text != cell.items.at(1).text) between += as_number(cell.items.at(2));
  }
  double sent = 0, messages = 0;
  for (std::size_t s = 0; s < sim::kStreams; ++s) {
    const double bytes = p.result.traffic_bytes[s];
    sent += bytes;
    const auto stream = static_cast<sim::Stream>(s);
    if (stream == sim::Stream::PpDown || stream == sim::Stream::PpUp) messages += bytes;
  }
  CHECK(all == Approx(sent).epsilon(1e-4));
  CHECK(between == Approx(messages).epsilon(1e-4));
  CHECK(messages > 0);
}

TEST_CASE("no kernel of a report's roofline beats the device's data sheet", "[reports]") {
  const models::Scenario scenario = tests::small_gpt(kFourStages);
  const base::Document view = view_of(scenario, predicted_run(scenario));
  const double peak = view_number(view.root, "roofline.peak_flops");
  const double memory = view_number(view.root, "roofline.memory_bytes_per_s");
  const auto& kernels = base::find_path(view.root, "roofline.kernels")->items;
  CHECK(kernels.size() > 10);
  for (const base::Value& kernel : kernels) {
    INFO(base::find_path(kernel, "name")->text);
    const double seconds = view_number(kernel, "s");
    CHECK(view_number(kernel, "flops") / seconds <= peak);
    CHECK(view_number(kernel, "bytes") / seconds <= memory);
    CHECK(view_number(kernel, "bytes") > 0);
  }
}

TEST_CASE("numbers of a report are rounded to few digits", "[reports]") {
  CHECK(reports::rounded(1234567.0) == 1235000.0);
  CHECK(reports::rounded(-0.0) == 0.0);
  CHECK_FALSE(std::signbit(reports::rounded(-0.0)));
  CHECK(reports::unit_for(14.6, 7) == Approx(1e-6));
  CHECK(reports::unit_for(0, 7) == 1);
}

TEST_CASE("of many rank classes a report shows some, the critical and the fullest among them",
          "[reports]") {
  sim::Prediction p;
  p.graph.lanes.resize(1000);
  p.result.critical_lane = 501;
  sim::MemoryPeak peak;
  peak.lane = 77;
  peak.reserved_bytes = peak.capacity_bytes = 1;
  p.result.memory = {peak};
  const std::vector<std::size_t> lanes = reports::shown_lanes(p);
  CHECK(lanes.size() == 64);
  CHECK(std::is_sorted(lanes.begin(), lanes.end()));
  for (const std::size_t lane : {std::size_t{501}, std::size_t{77}, std::size_t{0}})
    CHECK(std::find(lanes.begin(), lanes.end(), lane) != lanes.end());
}

TEST_CASE("what users write cannot leave its place in a page", "[reports]") {
  CHECK(reports::html_text("<b a=\"x\" b='y'>&amp;") ==
        "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  CHECK(reports::script_json("\"</script><!--\"") == "\"\\u003c/script>\\u003c!--\"");
  CHECK(reports::script_text("a = '</script>';") == "a = '<\\/script>';");
  // What is put in is not looked at again.
  const reports::PageParts parts{"{{data}}", "", "", "", "{{script}}", "end"};
  CHECK(reports::fill_page("<t>{{title}}</t>{{data}}{{script}}", parts) ==
        "<t>{{data}}</t>{{script}}end");
}

TEST_CASE("a report is one page that asks for nothing and ends where it should", "[reports]") {
  if (reports::chart_library_path().empty()) {
    CHECK_THROWS_AS(reports::require_report_library(), base::MissingError);
    return;
  }
  models::Scenario scenario = tests::example_scenario();
  scenario.name = "</script><script>alert('\"\\')</script> \xc3\xa4 {{data}}";
  const sim::Prediction p = tests::example_prediction();
  const reports::Answer answer = reports::make_answer(scenario, p, "paceline run 'a b'");
  const std::string page = reports::run_report({&answer, reports::report_view(scenario, p)});
  const auto count = [&](std::string_view text) {
    std::size_t times = 0;
    for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1))
      ++times;
    return times;
  };
  CHECK(count("</script>") == 3);
  CHECK(count("<script>alert") == 0);
  CHECK(count("Released under the MIT License") >= 1);  // also of what the library holds
  CHECK(count("src=") == 0);
  CHECK(count("<link") == 0);
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  const base::Document data =
      base::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "data");
  CHECK(base::find_path(data.root, "runs")->items.at(0).fields.size() == 2);
  CHECK(page.substr(page.size() - 8) == "</html>\n");
}

TEST_CASE("the page of a search holds its answer, what was tried and the best run", "[reports]") {
  if (reports::chart_library_path().empty()) return;
  models::Scenario scenario = tests::small_gpt();
  scenario.name = "</script><script>alert(1)</script>";
  sim::SearchSpace space = sim::search_space(scenario, false);
  for (const char* vary : {"micro=1", "zero=0,1", "recompute=none", "schedule=1f1b"})
    sim::vary(space, scenario, vary);
  sim::SearchOptions options;
  options.threads = 1;
  options.tried = 100;
  options.limits.memory_bytes = 8e9;
  const reports::SearchReport report = reports::make_search_report(
      scenario, {}, options, sim::search(scenario, space, options), "paceline plan 'a b'");
  const sim::Prediction p = predicted_run(scenario);
  const reports::Answer answer = reports::make_answer(scenario, p, "paceline run 'a b'");
  const reports::ReportRun run{&answer, reports::report_view(scenario, p)};
  const std::string page = reports::plan_report(report, {&run, 1});
  CHECK(page.find("<script>alert") == std::string::npos);
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  const base::Document data =
      base::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "data");
  CHECK(base::find_path(data.root, "kind")->text == "plan");
  CHECK(base::find_path(data.root, "runs")->items.size() == 1);
  CHECK(base::find_path(data.root, "tried")->items.size() == report.tried.size());
  CHECK(!report.tried.empty());
  CHECK(base::find_path(data.root, "plan.best")->items.size() == report.best.size());
  const base::Document alone = base::parse_json(reports::search_json(report), "answer");
  CHECK(base::find_path(data.root, "plan")->fields.size() == alone.root.fields.size());
}

TEST_CASE("a chart library that is none is refused", "[reports]") {
  ::setenv("PACELINE_CHART_JS", "/nonexistent/chart.min.js", 1);
  CHECK(reports::chart_library_path().empty());
  CHECK_THROWS_AS(reports::require_report_library(), base::MissingError);
  ::setenv("PACELINE_CHART_JS", "/proc/version", 1);
  CHECK_THROWS_AS(reports::require_report_library(), base::MissingError);
  ::unsetenv("PACELINE_CHART_JS");
}
