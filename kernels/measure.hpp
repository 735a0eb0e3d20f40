// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sample.hpp"
#include "kernels/backend.hpp"
#include "kernels/host_load.hpp"

/// Speed of operations: warm-up, repetitions of a batch of calls, median and quartiles.
namespace paceline::kernels {

struct MeasureOptions {
  int repetitions = 15;
  base::Seconds batch{5e-3};  ///< a batch takes at least this long, or is one call
  base::Seconds most{3};      ///< for all repetitions; fewer of slow calls, at least three
  int together = 1;           ///< threads that run it at the same time, for backends of a processor
};
/// For a first look.
inline constexpr MeasureOptions kQuickMeasure{5, base::Seconds(1e-3), base::Seconds(0.5)};

struct Timing {
  base::Seconds median, min;  ///< of one call
  base::Seconds spread;       ///< between the quartiles
  int repetitions = 0;
  std::int64_t calls = 1;  ///< in a repetition
  GpuReading device;       ///< after the last repetition; its power is the mean over all of them
};

/// Seconds of one call in each of `repetitions` batches: `call` so many times, then `drain`, which
/// waits for what was enqueued. Timed by Google Benchmark where the build found it.
std::vector<double> time_batches(const std::function<void()>& call,
                                 const std::function<void()>& drain, std::int64_t calls,
                                 int repetitions);
/// "Google Benchmark 1.7.1", or "own loop".
std::string_view timer_name();

/// Median, minimum and quartiles, at least one time.
Timing summarise(std::vector<double> seconds, std::int64_t calls);

/// Warms up, chooses how many calls make a batch, and times.
Timing time_calls(const std::function<void()>& call, const std::function<void()>& drain,
                  const MeasureOptions& options);

/// The operation on inputs of its own, as a step finds them: calls take turns on so many sets of
/// tensors that a set has left the caches before its next turn. base::Error when an output is not a
/// finite number afterwards or there is not enough memory.
Timing measure(const Operation& operation, const Case& c, const Backend& backend,
               const MeasureOptions& options);

/// What a sample says of the machine a backend runs on.
base::Machine machine_of(const Backend& backend);

/// One operation on one shape.
struct BenchCase {
  const Operation* operation;
  Case c;
};
std::string label(const BenchCase& c);  ///< as base::sample_label

/// The sample of a measurement that began at `start`, busy where too much else ran.
base::Sample make_sample(const BenchCase& c, const base::Machine& machine, const Timing& timing,
                         const HostLoad& load, int together, std::string_view version);

struct BenchChoice {
  std::vector<std::string> only;   ///< kernels; empty: all but libraries' (library.hpp)
  std::vector<std::string> types;  ///< empty: fp32 on processors, bf16 on devices, else the first
  bool quick = false;              ///< the smallest shapes
};

/// The operation of a name, null where there is none.
const Operation* find_operation(std::string_view kernel, std::string_view pass);

bool chosen(const BenchChoice& choice, const Operation& operation);
/// base::Error for a kernel or type there is none of.
void check_names(const BenchChoice& choice);
/// base::MissingError when a kernel is named that a library does on this backend, and that is not
/// there.
void require_named_libraries(const Backend& backend, const BenchChoice& choice);
/// Every chosen operation the backend has on its useful shapes, without those that would take long
/// or not fit (`left_out` counts them). Throws as check_names() and require_named_libraries().
std::vector<BenchCase> bench_cases(const Backend& backend, const BenchChoice& choice,
                                   std::size_t& left_out);
/// Whether it can be measured in reasonable time and memory.
bool measurable(const Backend& backend, const BenchCase& c);

}  // namespace paceline::kernels
