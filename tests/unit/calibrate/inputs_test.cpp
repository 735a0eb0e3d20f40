// SPDX-License-Identifier: Apache-2.0
#include "calibrate/inputs.hpp"

#include <catch2/catch.hpp>

#include "calibrate/calibrate.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::calibrate;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using tests::message_of;

namespace {

base::Sample example(const std::string& device = "NVIDIA H200") {
  base::Sample s;
  s.version = "0.1.0";
  s.machine = {"cuda", device, "node", base::Bytes(1.4e11), 132};
  s.time = "2026-01-31T12:00:00Z";
  s.kernel = "rmsnorm";
  s.pass = "forward";
  s.type = "bf16";
  s.extents = {{"rows", 4096}, {"columns", 4096}};
  s.median = s.min = base::Seconds(1e-4);
  return s;
}

template <class Change>
std::string line(const Change& change) {
  base::Sample s = example();
  change(s);
  return base::sample_line(s);
}

Inputs inputs_of(const std::vector<NamedText>& texts, const InputOptions& options = {}) {
  return parse_inputs(texts, options);
}
std::string problem(const std::vector<NamedText>& texts, const InputOptions& options = {}) {
  return message_of([&] { parse_inputs(texts, options); });
}

constexpr const char* kLog =
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#  Rank  0 Group  0 Pid 1 on node device  0 [0x1b] NVIDIA H200\n"
    "#  Rank  1 Group  0 Pid 1 on node device  1 [0x1c] NVIDIA H200\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
    "     1048576        262144     float     sum      -1    40.00   26.21   26.21      0    40.10"
    "   26.15   26.15      0\n"
    "     2097152        524288     float     sum      -1    60.00   34.95   34.95      0    60.10"
    "   34.89   34.89      0\n";

}  // namespace

TEST_CASE("samples of several files come together", "[calibrate]") {
  const std::string one = line([](auto&) {}), two = line([](base::Sample&s) {
                                                s.extents[0].second = 8192;
                                                s.time = "2026-02-01T00:00:00Z";
                                              });
  const Inputs in = inputs_of({{"dir/a.jsonl", one + two}, {"b.jsonl", two + "{\"sch"}});
  CHECK(in.samples.size() == 3);
  CHECK(in.machine.device == "NVIDIA H200");
  REQUIRE(in.files.size() == 2);
  CHECK(in.files[0].file == "a.jsonl");
  CHECK(in.files[0].first == "2026-01-31T12:00:00Z");
  CHECK(in.files[0].last == "2026-02-01T00:00:00Z");
  CHECK(in.files[1].used == 1);
  REQUIRE(in.notes.size() == 2);
  CHECK_THAT(in.notes[0], Contains("stopped before the end"));
  CHECK_THAT(in.notes[1], Contains("cut short"));
}

TEST_CASE("samples of a busy machine count when that is asked for", "[calibrate]") {
  const std::string text = line([](base::Sample& s) { s.busy = true; }) + line([](auto&) {}) +
                           base::samples_complete_line(2, 1);
  const Inputs in = inputs_of({{"a.jsonl", text}});
  CHECK(in.samples.size() == 1);
  CHECK_THAT(in.notes.at(0), Contains("1 of 2 samples were taken on a busy machine"));
  CHECK(inputs_of({{"a.jsonl", text}}, {true, 0}).samples.size() == 2);
}

TEST_CASE("devices, backends and kernels that do not belong are named", "[calibrate]") {
  const std::string good = line([](auto&) {});
  CHECK_THAT(
      problem({{"a.jsonl", good},
               {"b.jsonl", line([](base::Sample& s) { s.machine.device = "NVIDIA B200"; })}}),
      StartsWith("b.jsonl:1:1: measured on 'NVIDIA B200', after samples of 'NVIDIA H200'"));
  CHECK_THAT(
      problem({{"a.jsonl", good + line([](base::Sample& s) { s.machine.backend = "cpu"; })}}),
      StartsWith("a.jsonl:2:1: backend 'cpu', after samples of 'cuda'"));
  CHECK_THAT(problem({{"a.jsonl", line([](base::Sample& s) { s.kernel = "rmsnrom"; })}}),
             Contains("unknown kernel 'rmsnrom'; did you mean 'rmsnorm'?"));
  CHECK_THAT(problem({{"a.jsonl", line([](base::Sample& s) { s.extents.pop_back(); })}}),
             Contains("it needs rows columns"));
  CHECK_THAT(problem({{"a.jsonl", good}, {"b.jsonl", good}}), Contains("is the same as a.jsonl"));
  CHECK_THAT(problem({{"a.jsonl", " \n"}}), Contains("is empty"));
  CHECK_THAT(problem({{"a.jsonl", "{\"schema\":\"paceline-profile-1\"}\n"}}),
             Contains("this version reads"));
  CHECK_THAT(problem({{"a.txt", "hello\n"}}), StartsWith("a.txt"));
}

TEST_CASE("logs of nccl-tests stand beside samples of the same device", "[calibrate]") {
  const Inputs in = inputs_of({{"all_reduce.txt", kLog}, {"a.jsonl", line([](auto&) {})}});
  REQUIRE(in.logs.size() == 1);
  CHECK(in.logs[0].ranks == 2);
  CHECK(in.logs[0].nodes == 1);
  CHECK(in.logs[0].rows.size() == 2);
  CHECK(in.samples.size() == 1);
  CHECK_THAT(
      problem({{"all_reduce.txt", kLog},
               {"a.jsonl", line([](base::Sample& s) { s.machine.device = "NVIDIA B200"; })}}),
      StartsWith("all_reduce.txt: a log of 'NVIDIA H200', the samples are of "
                 "'NVIDIA B200'"));
}

TEST_CASE("Google Benchmark's JSON: repetitions are one sample, other names are skipped",
          "[calibrate]") {
  const std::string entry =
      R"({"name": "gemm/forward/fp32/m:64/n:32/k:16/real_time/repeats:3", "run_type": "iteration",
          "iterations": 10, "time_unit": "us", "real_time": )";
  const std::string text =
      R"({"context": {"host_name": "box", "date": "2026-01-31T12:00:00+01:00",
          "mhz_per_cpu": 2800, "load_avg": [0.5, 1, 1]}, "benchmarks": [)" +
      entry + "4.0}," + entry + "2.0}," + entry +
      R"(3.0}, {"name": "BM_other/8", "run_type": "iteration", "iterations": 1, "real_time": 1.0,
          "time_unit": "ns"}, {"name": "gemm/forward/fp32/m:64/n:32/k:16_mean", "run_type":
          "aggregate", "real_time": 9.0, "time_unit": "ns"}]})";
  int skipped = 0;
  const base::SampleFile file = parse_google_benchmark(text, "g.json", skipped);
  CHECK(skipped == 1);
  REQUIRE(file.samples.size() == 1);
  const base::Sample& s = file.samples[0];
  CHECK(sample_label(s) == "gemm forward fp32 m=64 n=32 k=16");
  CHECK(s.median.value == Approx(3e-6));
  CHECK(s.min.value == Approx(2e-6));
  CHECK(s.repetitions == 3);
  CHECK(s.calls == 10);
  CHECK(s.machine.backend == "cpu");
  CHECK(s.machine.device == "a processor of box");
  CHECK(s.time == "2026-01-31T12:00:00Z");
  CHECK(*s.clock_Hz == Approx(2.8e9));
  CHECK(inputs_of({{"g.json", text}}).samples.size() == 1);
  CHECK_THAT(problem({{"g.json", R"({"context": {}, "benchmarks": []})"}}),
             Contains("no benchmark in it is named as kernels are"));
  std::string bad = text;
  bad.replace(bad.find("4.0"), 3, "-4.0");
  CHECK_THAT(problem({{"g.json", bad}}), Contains("real_time"));
}

TEST_CASE("a calibration needs samples it can use", "[calibrate]") {
  const auto refuse = [](const std::string& text, const CalibrateOptions& options) {
    return message_of([&] { calibrate::calibrate(inputs_of({{"a.jsonl", text}}), options); });
  };
  CalibrateOptions options;
  options.name = "mine";
  options.device = models::read_device("h200");
  const std::string norm = line([](auto&) {});
  CHECK_THAT(refuse(norm, options), Contains("no samples of gemm"));
  CHECK_THAT(refuse(line([](base::Sample& s) { s.busy = true; }), options),
             Contains("measure on an idle machine"));
  options.base = models::read_profile("h100-sxm");
  const Calibration kept = calibrate::calibrate(inputs_of({{"a.jsonl", norm}}), options);
  CHECK(kept.profile.gemm[2].sustained == options.base->gemm[2].sustained);
  CHECK(kept.profile.kernels.size() == 1);
  CHECK(kept.profile.device == "h200");
  const std::string product = line([](base::Sample& s) {
    s.kernel = "gemm";
    s.extents = {{"m", 64}, {"n", 64}, {"k", 64}};
  });
  options.base.reset();
  CHECK_THAT(refuse(product, options), Contains("are these samples of another device?"));
  options.without = {"gem"};
  CHECK_THAT(refuse(norm, options), Contains("--without: unknown kernel 'gem'"));
}

TEST_CASE("the data sheet of a device is found by what the driver calls it", "[calibrate]") {
  CHECK(device_of({"cuda", "NVIDIA H200", "", {}, 132}).name == "h200");
  CHECK_THAT(message_of([] {
               device_of({"cuda", "NVIDIA X900", "", {}, 132});
             }),
             Contains("no device spec names 'NVIDIA X900'") && Contains("--device"));
  CHECK_THAT(message_of([] {
               device_of({"cuda", "NVIDIA", "", {}, 132});
             }),
             Contains("several device specs do"));
}
