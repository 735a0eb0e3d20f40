// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "kernels/filled_tensors.hpp"

namespace paceline::kernels {
namespace {

constexpr std::int64_t kMostCalls = 1'000'000;
constexpr int kFewest = 3;             // repetitions
constexpr double kEnergyWindow = 0.2;  // s; NVML's counter moves every 20 to 100 ms

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A stream that goes back.
class OwnStream {
 public:
  explicit OwnStream(const Backend& backend) : backend_(backend), stream_(backend.make_stream()) {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { backend_.drop_stream(stream_); }
  Stream get() const { return stream_; }

 private:
  const Backend& backend_;
  Stream stream_;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Timing summarise(std::vector<double> seconds, std::int64_t calls) {
  PACELINE_CHECK(!seconds.empty());
  std::sort(seconds.begin(), seconds.end());
  // A clock that did not move says "less than it can tell".
  const auto time = [](double s) { return base::Seconds(std::max(s, 1e-12)); };
  Timing timing;
  timing.median = time(quantile(seconds, 0.5));
  timing.min = time(seconds.front());
  timing.spread = base::Seconds(quantile(seconds, 0.75) - quantile(seconds, 0.25));
  timing.repetitions = static_cast<int>(seconds.size());
  timing.calls = calls;
  return timing;
}

Timing time_calls(const std::function<void()>& call, const std::function<void()>& drain,
                  const MeasureOptions& options) {
  call();  // loads code, touches memory, picks algorithms
  drain();
  // Once more, and on until a fifth of a batch has passed: clocks rise, caches fill.
  const Clock::time_point start = Clock::now();
  std::int64_t warm = 0;
  double spent = 0;
  for (std::int64_t next = 1; spent < options.batch.value / 5 && warm < kMostCalls; next = warm) {
    for (std::int64_t i = 0; i < next; ++i) call();
    drain();
    warm += next;
    spent = since(start);
  }
  const double once = std::max(spent / static_cast<double>(warm), 1e-10);
  const auto calls = static_cast<std::int64_t>(
      std::clamp(std::ceil(options.batch.value / once), 1.0, static_cast<double>(kMostCalls)));
  const double batch = once * static_cast<double>(calls);
  const int fitting = static_cast<int>(std::min(1e6, options.most.value / batch));
  const int repetitions =
      std::clamp(fitting, std::min(kFewest, options.repetitions), options.repetitions);
  return summarise(time_batches(call, drain, calls, repetitions), calls);
}

namespace {

/// Sets of tensors of a case that calls take in turn.
class Sets {
 public:
  Sets(const Operation& operation, const Case& c, const Backend& backend,
       const std::vector<TensorSpec>& specs, const InputBlocks& blocks)
      : operation_(operation), c_(c), backend_(backend), stream_(backend) {
    constexpr double kMostSets = 256;
    const double bytes = 1 + bytes_of(specs);
    const double cold = std::ceil(backend.cache() / bytes),
                 fitting = std::floor(backend.memory() / (4 * bytes));
    const double count = std::clamp(std::min(cold, fitting) + 1, 2.0, kMostSets);
    for (int i = 0; i < static_cast<int>(count); ++i)
      sets_.push_back(std::make_unique<FilledTensors>(specs, blocks, backend));
  }
  void call() {
    backend_.run(operation_, Call{c_, sets_[next_]->tensors()}, stream_.get());
    next_ = (next_ + 1) % sets_.size();
  }
  void wait() const { backend_.wait(stream_.get()); }
  void check_outputs(const std::string& label) const { sets_.front()->check_outputs(label); }

 private:
  const Operation& operation_;
  const Case& c_;
  const Backend& backend_;
  OwnStream stream_;
  std::vector<std::unique_ptr<FilledTensors>> sets_;
  std::size_t next_ = 0;
};

/// Threads that call on and on until this goes.
class Companions {
 public:
  Companions(int count, const std::function<std::unique_ptr<Sets>()>& make) {
    for (int i = 0; i < count; ++i) sets_.push_back(make());
    for (const auto& sets : sets_) {
      threads_.emplace_back([this, &sets = *sets] {
        while (!stop_) sets.call();
      });
    }
  }
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;
  ~Companions() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Sets>> sets_;
  std::vector<std::thread> threads_;
};

}  // namespace

Timing measure(const Operation& operation, const Case& c, const Backend& backend,
               const MeasureOptions& options) {
  const std::vector<TensorSpec> specs = operation.tensors(c);
  const InputBlocks blocks = blocks_of(specs, 1);
  const auto make = [&] { return std::make_unique<Sets>(operation, c, backend, specs, blocks); };
  const std::unique_ptr<Sets> sets = make();
  const Companions companions(options.together - 1, make);
  const Clock::time_point start = Clock::now();
  const GpuReading before = backend.reading();
  Timing timing = time_calls([&] { sets->call(); }, [&] { sets->wait(); }, options);
  timing.device = backend.reading();
  // What the counter of energy says of so short a time is coarse; the power it gives is not.
  if (const double wall = since(start);
      before.energy_J && timing.device.energy_J && wall > kEnergyWindow)
    timing.device.power_W = (*timing.device.energy_J - *before.energy_J) / wall;
  sets->check_outputs(label({&operation, c}));
  return timing;
}

base::Machine machine_of(const Backend& backend) {
  return {backend.name, backend.device(), host_name(), base::Bytes(backend.memory()),
          backend.multiprocessors()};
}

std::string label(const BenchCase& c) {
  return std::string(c.operation->kernel) + " " + c.operation->pass + " " +
         std::string(name_of(c.c.type)) + " " + c.c.shape.text();
}

base::Sample make_sample(const BenchCase& c, const base::Machine& machine, const Timing& timing,
                         const HostLoad& load, int together, std::string_view version) {
  base::Sample s;
  s.version = version;
  s.machine = machine;
  s.time = utc_time();
  s.kernel = c.operation->kernel;
  s.pass = c.operation->pass;
  s.type = name_of(c.c.type);
  s.extents = c.c.shape.extents();
  s.together = together;
  s.median = timing.median;
  s.min = timing.min;
  s.spread = timing.spread;
  s.repetitions = timing.repetitions;
  s.calls = timing.calls;
  const Work work = c.operation->work(c.c);
  s.flops = base::Flops(work.flops);
  s.bytes = base::Bytes(work.bytes);
  s.load_average = load.load_average;
  s.other_cores = load.other_cores;
  s.busy = load.other_cores > kBusyCores;
  if (timing.device.clock_MHz) s.clock_Hz = *timing.device.clock_MHz * 1e6;
  s.temperature = timing.device.temperature_C;
  if (timing.device.power_W) s.power = base::Watts(*timing.device.power_W);
  return s;
}

}  // namespace paceline::kernels
