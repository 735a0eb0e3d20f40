// SPDX-License-Identifier: Apache-2.0
// The kernels without the rest of the program, for machines that lack its libraries
// (tools/device_check.sh): their checks, and samples for `paceline calibrate` elsewhere.
#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "kernels/check_all.hpp"
#include "kernels/library.hpp"

namespace {

using namespace paceline;
using kernels::Backend;

constexpr const char* kUsage =
    "usage: paceline-kernels check [cpu|cuda [KERNEL]]            compare with references\n"
    "       paceline-kernels bench FILE.jsonl [cpu|cuda [KERNEL]] measure the quick shapes\n"
    "of every kernel of this program, or of KERNEL: libraries' (attention-cudnn) by name only\n";

int check(const Backend& backend, const kernels::BenchChoice& choice) {
  const kernels::CheckSummary summary =
      kernels::check_all(backend, choice, [](const std::string&) {});
  std::fputs(summary.text.c_str(), stdout);
  return summary.failed == 0 ? 0 : 1;
}

int bench(const Backend& backend, kernels::BenchChoice choice, const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) throw base::Error(path, "cannot be written");
  const base::Machine machine = kernels::machine_of(backend);
  std::size_t left_out = 0, samples = 0, busy = 0;
  kernels::HostMonitor monitor;
  choice.quick = true;
  for (const kernels::BenchCase& c : kernels::bench_cases(backend, choice, left_out)) {
    const kernels::HostReading start = kernels::read_host();
    kernels::Timing timing;
    try {
      timing = kernels::measure(*c.operation, c.c, backend, kernels::kQuickMeasure);
    } catch (const kernels::Unsupported& refused) {
      std::printf("left out: %s\n", refused.what());
      ++left_out;
      continue;
    }
    const base::Sample sample =
        kernels::make_sample(c, machine, timing, monitor.since(start), 1, PACELINE_VERSION);
    ++samples;
    busy += sample.busy ? 1 : 0;
    std::fputs(base::sample_line(sample).c_str(), file);
    std::fflush(file);
  }
  std::fputs(base::samples_complete_line(samples, busy).c_str(), file);
  const bool written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !written) throw base::Error(path, "cannot be written");
  std::printf("%zu samples, %zu busy, %zu left out\n", samples, busy, left_out);
  return 0;
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int words = what == "bench" ? 3 : 2;
  if ((what != "check" && what != "bench") || argc < words || argc > words + 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const Backend& backend = kernels::backend_named(argc > words ? argv[words] : "cuda");
  kernels::BenchChoice choice;
  if (argc > words + 1) choice.only = {argv[words + 1]};
  return what == "check" ? check(backend, choice) : bench(backend, choice, argv[2]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const base::MissingError& missing) {
    std::fprintf(stderr, "paceline-kernels: %s\n", missing.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline-kernels: %s\n", error.what());
    return 2;
  }
}
