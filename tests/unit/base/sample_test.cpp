// SPDX-License-Identifier: Apache-2.0
#include "base/sample.hpp"

#include <catch2/catch.hpp>

#include "base/json_lines.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using base::Sample;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using tests::message_of;

namespace {

Sample example() {
  Sample s;
  s.version = "0.1.0";
  s.machine = {"cuda", "NVIDIA \"H200\"", "node-1", base::Bytes(1.5e11), 132};
  s.time = "2026-01-31T12:00:00Z";
  s.kernel = "gemm";
  s.pass = "weight-gradient";
  s.type = "bf16";
  s.extents = {{"m", 4096}, {"n", 8192}, {"k", 1}};
  s.median = base::Seconds(1.25e-4);
  s.min = base::Seconds(1.2e-4);
  s.spread = base::Seconds(3e-6);
  s.repetitions = 15;
  s.calls = 40;
  s.flops = base::Flops(6.7108864e7);
  s.bytes = base::Bytes(1e6);
  s.load_average = 0.25;
  s.other_cores = 0.01;
  s.clock_Hz = 1.98e9;
  s.power = base::Watts(640.5);
  s.temperature = 55;
  return s;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string line = base::sample_line(example());
  const std::size_t at = line.find(from);
  REQUIRE(at != std::string::npos);
  return line.replace(at, from.size(), to);
}

std::string problem(const std::string& text) {
  return message_of([&] { base::parse_samples(text, "s.jsonl"); });
}

}  // namespace

TEST_CASE("a sample reads back as it was written", "[sample]") {
  const Sample wanted = example();
  const std::string line = base::sample_line(wanted);
  CHECK(line.find('\n') == line.size() - 1);
  const base::SampleFile file = base::parse_samples(line, "s.jsonl");
  REQUIRE(file.samples.size() == 1);
  const Sample& got = file.samples.front();
  CHECK(base::sample_line(got) == line);
  CHECK(got.machine == wanted.machine);
  CHECK(got.extents == wanted.extents);
  CHECK(got.median == wanted.median);
  CHECK(got.power == wanted.power);
  CHECK(sample_label(got) == "gemm weight-gradient bf16 m=4096 n=8192 k=1");
  CHECK(base::extent(got, "n") == 8192);
  CHECK(!base::extent(got, "rows"));
  CHECK(!file.complete);
}

TEST_CASE("what a sample may leave out stays out", "[sample]") {
  Sample s = example();
  s.clock_Hz.reset();
  s.power.reset();
  s.temperature.reset();
  s.beside = "all_reduce";
  s.busy = true;
  const base::SampleFile file = base::parse_samples(base::sample_line(s), "s.jsonl");
  CHECK(!file.samples[0].clock_Hz);
  CHECK(!file.samples[0].power);
  CHECK(file.samples[0].busy);
  CHECK(file.samples[0].beside == "all_reduce");
  CHECK_THAT(sample_label(file.samples[0]), Catch::Matchers::EndsWith(" beside all_reduce"));
}

TEST_CASE("a sample file ends with a line that counts", "[sample]") {
  const std::string line = base::sample_line(example());
  const std::string whole = line + line + base::samples_complete_line(2, 1);
  const base::SampleFile file = base::parse_samples(whole, "s.jsonl");
  CHECK(file.complete);
  CHECK(!file.cut_short);
  CHECK(file.samples.size() == 2);
  CHECK(where(file, 1) == "s.jsonl:2:1");
  CHECK_THAT(problem(line + base::samples_complete_line(2, 0)),
             StartsWith("s.jsonl:2:") && Contains("the file has 1"));
  CHECK_THAT(problem(whole + line), StartsWith("s.jsonl:4:1: a line after"));
}

TEST_CASE("a last line that was cut short is left out, any other is an error", "[sample]") {
  const std::string line = base::sample_line(example());
  const base::SampleFile file = base::parse_samples(line + line.substr(0, 100), "s.jsonl");
  CHECK(file.cut_short);
  CHECK(file.samples.size() == 1);
  CHECK(base::parse_samples("", "s.jsonl").samples.empty());
  CHECK_THAT(problem(line + line.substr(0, 100) + "\n" + line), StartsWith("s.jsonl:2:10"));
  CHECK_THAT(problem("\n" + line), StartsWith("s.jsonl:1:"));
}

TEST_CASE("errors of samples name file, line and column", "[sample]") {
  const std::pair<std::string, const char*> cases[] = {
      {changed("paceline-samples-1", "paceline-samples-2"), "this version reads"},
      {changed("0.000125", "-1"), "median_s"},
      {changed("0.000125", "0"), "median_s"},
      {changed("0.000125", "NaN"), "invalid literal"},
      {changed("0.000125", "1e999"), "number overflow"},
      {changed("0.000125", "\"0.1\""), "without quotes"},
      {changed("0.00012,", "0.5,"), "min_s: is above the median"},
      {changed("\"m\":4096", "\"m\":-1"), "extents.m"},
      {changed("\"m\":4096", "\"m\":4096.5"), "extents.m"},
      {changed("\"m\":4096", "\"m\":4096,\"m\":1"), "duplicate key 'm'"},
      {changed("\"kernel\":\"gemm\"", "\"kernel\":\"ge mm\""), "is no name"},
      {changed("\"kernel\"", "\"kernels\""), "is 'kernels' meant to be it?"},
      {changed("flops_per_s\":", "flops_per_s\":9"), "contradicts"},
      {changed("2026-01-31T12", "2026-01-31 12"), "is no UTC time"},
      {changed("\"busy\":false", "\"busy\":0"), "write false"},
      {changed("\"busy\":false", "\"busy\":false,\"mood\":1"), "unknown key"},
      {changed("\"repetitions\":15", "\"repetitions\":0"), "repetitions"},
      {"[1]\n", "expected a map"},
      {"{\"schema\":\"paceline-samples-1\"}\n", "version: is missing"},
  };
  const std::string good = base::sample_line(example());
  for (const auto& [line, expected] : cases) {
    INFO(line);
    const std::string message = problem(good + line);
    CHECK_THAT(message, StartsWith("s.jsonl:2:") && Contains(expected));
  }
}

TEST_CASE("lines and files are limited", "[sample]") {
  std::string line = base::sample_line(example());
  line.insert(line.size() - 2, std::string(base::kMaxSampleLine, ' '));
  CHECK_THAT(problem(line), Contains("lines have at most 65536"));
  std::string deep = "{\"schema\":";
  for (int i = 0; i < 100; ++i) deep += "[";
  CHECK_THAT(problem(deep + "\n"), Contains("nested deeper"));
  std::string wide = "{\"extents\":{";
  for (int i = 0; i < 300; ++i) wide += "\"e" + std::to_string(i) + "\":1,";
  CHECK_THAT(problem(wide + "\n"), Contains("more than 200 values"));
}
