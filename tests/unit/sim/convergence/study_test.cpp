// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>

#include "reports/convergence/report.hpp"
#include "sim/convergence/run_study.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim::convergence;

namespace {

Study study_of(const std::string& yaml) { return read_study(base::parse_yaml(yaml, "s.yaml")); }

const char* const kSmall = R"(
study: small
seeds: 3
steps: 30
objective: {kind: quadratic, size: 6, noise: 0.1}
optimizers: [{kind: sgd, rates: [0.01, 0.1, 0.5]}, {kind: adamw, rates: {low: 0.01, high: 0.1, factor: 3}}]
methods: [synchronous, {name: late, kind: delay, timeline: {step: 2 s, price_per_hour: 36}}]
tuned_for: synchronous
experiments: [{kind: round-trip, rows: 8, columns: 8}]
expect:
  - {that: synchronous.sgd / late.sgd, most: 10, seeds: 1}
  - {that: "(round-trip:bitvector + 1) * 2 - 2", most: 0}
  - {that: synchronous.sgd - 1000, least: 0}
)";

reports::ConvergenceReport report_of(const Study& study, int jobs) {
  const std::atomic<bool> stop{false};
  RunOptions options;
  options.jobs = jobs;
  return {"1", "paceline converge s.yaml", "s.yaml", study, run_study(study, options, stop)};
}

std::string refusal(const std::string& extra) {
  return tests::message_of(
      [&] { study_of("study: x\nobjective: {kind: quadratic}\noptimizers: [sgd]\n" + extra); });
}

}  // namespace

TEST_CASE("a study gives the same bytes on one thread and on four", "[sim]") {
  const Study study = study_of(kSmall);
  CHECK(study.cells.size() == 4);
  const reports::ConvergenceReport one = report_of(study, 1), four = report_of(study, 4);
  CHECK(convergence_json(one) == convergence_json(four));
  CHECK(convergence_text(one) == convergence_text(four));
  CHECK(convergence_svg(one) == convergence_svg(four));
}

TEST_CASE("a study tunes rates, takes over those of others and judges what it expects", "[sim]") {
  const reports::ConvergenceReport report = report_of(study_of(kSmall), 2);
  const auto& cells = report.result.cells;
  CHECK(cells[0].tried.size() == 3);
  CHECK(cells[2].rate == cells[0].rate);  // late.sgd
  CHECK(cells[2].tried.empty());
  CHECK(report.result.expectations[0].holds);
  CHECK(report.result.expectations[1].holds);
  CHECK_FALSE(report.result.expectations[2].holds);
  CHECK_FALSE(all_hold(report));
  const std::string text = convergence_text(report);
  CHECK(text.find("DOES NOT HOLD: synchronous.sgd - 1000") != std::string::npos);
  CHECK(text.find("costs 0.6") != std::string::npos);  // 30 steps of 2 s at 36 an hour
  const std::string json = convergence_json(report);
  CHECK(json.find("\"seconds\": [0, ") != std::string::npos);
  CHECK(json.find("\"money\"") != std::string::npos);
}

TEST_CASE("an interrupted study keeps what has finished", "[sim]") {
  const Study study = study_of(kSmall);
  std::atomic<bool> stop{false};
  RunOptions options;
  options.progress = [&](std::size_t done, std::size_t) { stop = done >= 4; };
  const StudyResult result = run_study(study, options, stop);
  CHECK(result.interrupted);
  CHECK(result.cells[0].runs.size() == 1);
  CHECK(result.cells[2].runs.empty());
  const reports::ConvergenceReport report{"1", "c", "s.yaml", study, result};
  CHECK(convergence_text(report).find("INTERRUPTED") != std::string::npos);
  CHECK(convergence_text(report).find("did not run") != std::string::npos);
  CHECK_FALSE(convergence_json(report).empty());
}

TEST_CASE("malformed studies are refused with one line", "[sim]") {
  const auto says = [](const std::string& message, const char* part) {
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  };
  says(refusal("methods: [{kind: local-sgd, inner: 0}]"), "s.yaml:4:");
  says(refusal("methods: [{kind: local-sgd, inner: 0}]"), "inner");
  says(refusal("methods: [{kind: synchronous, exchange: {kind: mask, keep: 0}}]"), "(0, 1]");
  says(refusal("methods: [{kind: synchronous, exchange: {codec: {kind: top-k, keep: 1.5}}}]"),
       "keep");
  says(refusal("methods: [{kind: gossip, workers: 2, mixing: [[0.5, 0.5], [0.5, 0.4]]}]"),
       "not doubly stochastic: row 1 adds up to 0.9");
  says(refusal("methods: [{kind: gossip, workers: 3, mixing: [[1, 0], [0, 1]]}]"), "row 0");
  says(refusal("methods: [{kind: gosip}]"), "did you mean 'gossip'?");
  says(refusal("methods: [{kind: pipeline, schedule: 1f1b}]"), "flushes");
  says(refusal("methods: [{kind: delay, steps: 2, correction: true}]"), "one step");
  says(refusal("methods: [{kind: delay, stepz: 2}]"), "did you mean 'steps'?");
  says(refusal("methods: [delay, delay]"), "stands twice");
  says(refusal("methods: [delay]\nseeds: 0"), "seeds");
  says(refusal("methods: [delay]\ntuned_for: dely"), "did you mean 'delay'?");
  says(refusal("methods: [delay, synchronous]\nexpect: [{that: delay / synchronos, most: 1}]"),
       "did you mean 'synchronous'?");
  says(refusal("methods: [delay]\nexpect: [{that: quadratic quadratic, most: 1}]"), "cannot");
  says(refusal("methods: [delay]\nexpect: [{that: quadratic}]"), "no bound");
  says(refusal("methods: [{kind: delay, optimizers: [adam]}]"), "not there");
  says(refusal("methods: []"), "empty");
  says(tests::message_of([] { study_of("study: x\nexperiments: [{kind: subspace, rank: 0}]"); }),
       "rank");
  says(tests::message_of([] { study_of("study: x"); }), "objective");
}

TEST_CASE("figures that a run does not have are refused by name", "[sim]") {
  const Study study =
      study_of(std::string(kSmall) + "  - {that: \"late.sgd:accurcy\", least: 0}\n");
  CHECK(tests::message_of([&] { report_of(study, 1); }).find("accurcy") != std::string::npos);
}

TEST_CASE("expressions follow precedence and brackets", "[sim]") {
  const std::vector<std::string> known{"a", "b-c"};
  const auto value = [&](const char* text) {
    return evaluate(parse_expression(text, "t", known),
                    [](const std::string& name) { return name == "a" ? 6.0 : 2.0; });
  };
  CHECK(value("a - b-c - 1") == 3);
  CHECK(value("a + b-c * 3") == 12);
  CHECK(value("(a + b-c) / (a - b-c)") == 2);
  for (const char* bad : {"", "a +", "a b-c", "(a", "a)", "+ a", "a + ()", "d"})
    CHECK_FALSE(tests::message_of([&] { parse_expression(bad, "t", known); }).empty());
}

TEST_CASE("every study of scenarios/convergence can be read", "[sim]") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(PACELINE_SOURCE) / "scenarios" / "convergence")) {
    INFO(entry.path().string());
    CHECK_FALSE(read_study(entry.path().string()).name.empty());
    ++count;
  }
  CHECK(count >= 9);
}

TEST_CASE("whitening gains what the effective rank says", "[sim]") {
  const Study study = study_of(
      "study: w\nseeds: 1\nexperiments: [{kind: whitening, rows: 48, columns: 64, exponent: 0.5, "
      "variants: true, rank: 8, block: 16}, {kind: subspace, width: 16, rank: 4, steps: 80}, "
      "{kind: mask-overlap, steps: 40, skip: 10, objective: {kind: softmax, samples: 256, inputs: "
      "8, "
      "classes: 4}, optimizer: {kind: adamw}}]\n"
      "expect:\n  - {that: \"whitening:gain / whitening:law\", least: 0.93, most: 1.07}\n"
      "  - {that: \"whitening:e4m3\", least: 0.024, most: 0.029}\n"
      "  - {that: \"whitening:full\", most: 1}\n"
      "  - {that: \"subspace:share_of_bound\", least: 0.9, most: 1}\n"
      "  - {that: \"mask-overlap:momentum_90 - mask-overlap:gradient\", least: 0}\n");
  for (const ExpectationResult& r : report_of(study, 1).result.expectations) CHECK(r.holds);
}
