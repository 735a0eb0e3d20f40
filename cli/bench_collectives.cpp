// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_collectives.hpp"

#include "cli/progress.hpp"
#include "kernels/collective/measure.hpp"
#include "kernels/host_load.hpp"
#include "kernels/measure.hpp"

namespace paceline::cli {
namespace {

using kernels::CollectiveKind;

base::Sample sample_of(CollectiveKind kind, int ranks, const base::Machine& machine,
                       const kernels::CollectiveMeasurement& m, const kernels::HostLoad& load) {
  base::Sample s;
  s.version = PACELINE_VERSION;
  s.machine = machine;
  s.time = kernels::utc_time();
  s.kernel = kernels::name_of(kind);
  s.pass = "forward";
  s.type = "fp32";
  s.extents = {{"bytes", static_cast<std::int64_t>(m.size.value)}, {"ranks", ranks}, {"nodes", 1}};
  s.median = m.median;
  s.min = m.min;
  s.spread = m.spread;
  s.repetitions = m.repetitions;
  s.calls = m.calls;
  s.bytes = m.size;
  s.load_average = load.load_average;
  s.other_cores = load.other_cores;
  s.busy = load.other_cores > kernels::kBusyCores;
  return s;
}

}  // namespace

std::vector<base::Sample> collective_samples(
    const kernels::Communicator& world, const kernels::Backend& backend, bool quick,
    const std::function<void(const base::Sample&)>& found) {
  const base::Machine machine = kernels::machine_of(backend);
  kernels::HostMonitor monitor(world.size());
  kernels::CollectiveOptions options;
  if (quick) options.repetitions = 7;
  const std::int64_t largest = (quick ? 4 : 64) * std::int64_t{1 << 20};
  std::vector<base::Sample> samples;
  for (const CollectiveKind kind : kernels::kCollectiveKinds) {
    for (std::int64_t bytes = 1024; bytes <= largest; bytes *= 4) {
      if (world.rank() == 0) show_progress("bench: " + std::string(kernels::name_of(kind)));
      const kernels::HostReading start = kernels::read_host();
      const auto measured = measure_collective(kind, bytes, world, backend, options);
      samples.push_back(sample_of(kind, world.size(), machine, measured, monitor.since(start)));
      found(samples.back());
    }
  }
  if (world.rank() == 0) show_progress("");
  return samples;
}

}  // namespace paceline::cli
