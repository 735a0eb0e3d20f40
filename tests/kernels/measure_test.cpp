// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "base/error.hpp"

using namespace paceline;
using namespace paceline::kernels;

TEST_CASE("processor time of /proc/stat counts work, not waiting", "[measure]") {
  const char* text = "cpu  100 10 50 9000 700 3 2 5 40 4\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 1 2 3\n";
  CHECK(busy_seconds(text, 100) == Approx(1.7));  // 100 + 10 + 50 + 3 + 2 + 5
  CHECK(busy_seconds("cpu  100 10 50 9000\n", 100) == Approx(1.6));
  CHECK(busy_seconds("", 100) == 0);
  CHECK(busy_seconds("cpuinfo 1 2 3", 100) == 0);
  CHECK(busy_seconds("cpu  x y z", 100) == 0);
}

TEST_CASE("others' load is what is busy beyond this process", "[measure]") {
  HostMonitor monitor;
  const HostReading start = read_host();
  HostReading end = start;
  end.wall += 2;
  end.busy += 3;
  end.own += 2;
  CHECK(monitor.between(start, end).other_cores == Approx(0.5));
  end.wall += 4;
  end.own += 4;
  end.busy += 3.9;  // ticks are coarse: never negative
  HostMonitor another;
  CHECK(another.between(start, end).other_cores == Approx((6.9 - 6) / 6));
}

TEST_CASE("a short measurement looks back over a whole window", "[measure]") {
  HostMonitor monitor;
  HostReading start = read_host();
  start.wall += 100;  // later than all readings so far
  HostReading middle = start;
  middle.wall += 10;
  middle.own += 10;
  middle.busy += 20;  // one other core for ten seconds
  CHECK(monitor.between(start, middle).other_cores == Approx(1));
  HostReading end = middle;
  end.wall += 0.01;
  end.own += 0.01;
  end.busy += 0.01;
  CHECK(monitor.between(middle, end).other_cores == Approx(10 / 10.01).epsilon(0.01));
}

TEST_CASE("ranks of our own are not others", "[measure]") {
  HostMonitor monitor(2);
  const HostReading start = read_host();
  HostReading end = start;
  end.wall += 10;
  end.busy += 20;
  end.own += 10;
  CHECK(monitor.between(start, end).other_cores == Approx(0).margin(1e-9));
}

TEST_CASE("times are summarised by median and quartiles", "[measure]") {
  const Timing timing = summarise({5, 1, 2, 3, 100}, 7);
  CHECK(timing.median.value == 3);
  CHECK(timing.min.value == 1);
  CHECK(timing.spread.value == 3);  // 5 - 2
  CHECK(timing.repetitions == 5);
  CHECK(timing.calls == 7);
  CHECK(summarise({0}, 1).median.value > 0);
}

TEST_CASE("a batch lasts as long as asked, and slow calls are repeated less", "[measure]") {
  int calls = 0;
  const auto sleep = [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  MeasureOptions options;
  options.repetitions = 20;
  options.batch = base::Seconds(10e-3);
  options.most = base::Seconds(60e-3);
  const Timing timing = time_calls(
      sleep, [] {}, options);
  CHECK(timing.median.value >= 2e-3);
  CHECK(timing.calls <= 5);
  CHECK(timing.repetitions >= 3);
  CHECK(timing.repetitions <= 15);
  CHECK(calls >= timing.repetitions * timing.calls + 2);
  std::int64_t fast = 0;
  CHECK(time_calls([&] { ++fast; }, [] {}, kQuickMeasure).calls > 1000);
}

TEST_CASE("what a call throws comes out of the timer", "[measure]") {
  CHECK_THROWS_AS(time_batches([] { throw base::Error("cuda", "out of memory"); }, [] {}, 2, 3),
                  base::Error);
  CHECK(time_batches([] {}, [] {}, 1, 4).size() == 4);
}

namespace {

std::vector<TensorSpec> one_output(const Case& c) {
  return {{"x", Use::In, DType::F32, c.shape["count"]},
          {"y", Use::Out, DType::F32, c.shape["count"]}};
}

Operation operation_of(void (*cpu)(const Call&)) {
  return {"test",
          "forward",
          "for this test",
          {DType::F32},
          one_output,
          [](const Case& c) {
            return Work{1.0 * static_cast<double>(c.shape["count"]), 8};
          },
          [] {
            return std::vector<Shape>{{{"count", 3}}};
          },
          [] {
            return std::vector<Shape>{{{"count", 100'000}}};
          },
          [](const Case&, Values&) {},
          cpu};
}

void copy(const Call& call) {
  for (std::int64_t i = 0; i < call["count"]; ++i) call.at<float>(1)[i] = call.at<float>(0)[i];
}
void nothing(const Call&) {}

}  // namespace

TEST_CASE("an operation is measured, and one that leaves no numbers is an error", "[measure]") {
  const Case c{DType::F32, {{"count", 100'000}}};
  const Timing timing = measure(operation_of(copy), c, cpu_backend(), kQuickMeasure);
  CHECK(timing.median.value > 0);
  CHECK_THROWS_WITH(measure(operation_of(nothing), c, cpu_backend(), kQuickMeasure),
                    Catch::Matchers::Contains("test forward fp32 count=100000: y[0] is not a "
                                              "number"));
}

TEST_CASE("a sample says what was measured where", "[measure]") {
  const Operation operation = operation_of(copy);
  const BenchCase c{&operation, {DType::F32, {{"count", 5}}}};
  const base::Machine machine = machine_of(cpu_backend());
  CHECK(machine.backend == "cpu");
  CHECK(machine.memory.value > 0);
  Timing timing = summarise({1, 2, 3}, 4);
  const base::Sample idle = make_sample(c, machine, timing, {0.1, 0.2}, 1, "1");
  CHECK(!idle.busy);
  CHECK(idle.flops.value == 5);
  CHECK(base::sample_label(idle) == label(c));
  CHECK(make_sample(c, machine, timing, {0.5, 0.2}, 1, "1").busy);
  CHECK(base::parse_samples(base::sample_line(idle), "s").samples.size() == 1);
}

TEST_CASE("the grid has every kernel the backend has, and quick is part of it", "[measure]") {
  std::size_t left_out = 0;
  const auto all = bench_cases(cpu_backend(), {}, left_out);
  BenchChoice quick;
  quick.quick = true;
  CHECK(bench_cases(cpu_backend(), quick, left_out).size() <= all.size());
  for (const Operation& operation : operations()) {
    if (operation.cpu == nullptr) continue;
    INFO(operation.kernel << " " << operation.pass);
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const BenchCase& c) { return c.operation == &operation; }));
  }
  CHECK_THROWS_WITH(bench_cases(cpu_backend(), {{"rmsnorn"}, {}, false}, left_out),
                    Catch::Matchers::Contains("did you mean 'rmsnorm'"));
  CHECK_THROWS_WITH(bench_cases(cpu_backend(), {{}, {"fp31"}, false}, left_out),
                    Catch::Matchers::Contains("fp31"));
}
