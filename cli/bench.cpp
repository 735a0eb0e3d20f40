// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/bench_collectives.hpp"
#include "cli/bench_scenario.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "cli/processes.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"
#include "kernels/check_all.hpp"
#include "kernels/collective/world.hpp"
#include "kernels/library.hpp"
#include "kernels/measure.hpp"

namespace paceline::cli {
namespace {

using base::Sample;
using kernels::Backend;
using kernels::BenchCase;

constexpr const char* kBenchHelp =
    "Measures the kernels of this program on this machine: one line of samples.jsonl each, with\n"
    "median, spread, achieved rates, clock and the load of the machine. `paceline calibrate` "
    "makes\n"
    "a profile of them. On a processor a rank is one thread, so one thread is measured.\n"
    "\n"
    "Nothing is believed on a busy machine: samples taken while others use the processors are\n"
    "marked, and calibrate leaves them out. --out grows by whole lines, so Ctrl-C keeps what is\n"
    "there; --resume goes on where it was stopped, and measures again what was marked busy.\n"
    "\n"
    "Examples:\n"
    "  paceline bench --out samples.jsonl\n"
    "  paceline bench --only gemm,attention --types fp32,bf16 --quick\n"
    "  paceline bench --backend cuda --for scenario.yaml --out h200.jsonl --resume h200.jsonl\n"
    "  paceline bench --check      (compares every kernel with its reference instead)";

struct BenchOptions {
  std::string backend = "cpu";
  kernels::BenchChoice choice;
  std::string scenario;
  std::vector<std::string> set;
  bool check = false;
  int ranks = 1, together = 1;
  std::string out, resume, json;
};

int check_kernels(const BenchOptions& options, const Backend& backend) {
  const kernels::CheckSummary summary = kernels::check_all(
      backend, options.choice, [](const std::string& label) { show_progress("check: " + label); });
  show_progress("");
  print(summary.text);
  return summary.failed == 0 ? kDone : kAnswerIsNo;
}

/// Samples of an earlier run that still hold. base::Error for those of another machine or version.
std::vector<Sample> resumed_samples(const BenchOptions& options, const base::Machine& machine) {
  if (options.resume.empty()) return {};
  base::SampleFile file = base::read_samples(options.resume);
  for (std::size_t i = 0; i < file.samples.size(); ++i) {
    const Sample& s = file.samples[i];
    const auto same = [&](const char* what, const std::string& theirs, const std::string& ours) {
      if (theirs == ours) return;
      throw base::Error(where(file, i),
                        std::string("of another ") + what + ": " + base::quote(theirs) + ", now " +
                            base::quote(ours),
                        "start anew without --resume");
    };
    same("version", s.version, PACELINE_VERSION);
    same("backend", s.machine.backend, machine.backend);
    same("device", s.machine.device, machine.device);
    same("host", s.machine.host, machine.host);
    same("number of ranks together", std::to_string(s.together), std::to_string(options.together));
  }
  std::erase_if(file.samples, [](const Sample& s) { return s.busy; });
  return std::move(file.samples);
}

/// Samples as they come.
class Journal {
 public:
  Journal(std::optional<reports::OutputFile>& file, const std::vector<Sample>& kept)
      : file_(file ? &*file : nullptr) {
    for (const Sample& sample : kept) write(base::sample_line(sample));
    if (file_ != nullptr && file_->replaces()) file_->publish();
  }
  void add(const Sample& sample) { write(base::sample_line(sample)); }
  void write(std::string_view line) {
    if (file_ == nullptr) return;
    file_->write(line);
    file_->flush();
  }

 private:
  reports::OutputFile* file_;
};

std::string cores_text(const kernels::HostLoad& load) {
  return "others use " + base::format_fixed(load.other_cores, 1) + " of " +
         std::to_string(kernels::core_count()) + " cores, load average " +
         base::format_fixed(load.load_average, 1);
}

/// A look before the first sample.
void warn_if_busy(kernels::HostMonitor& monitor) {
  const kernels::HostReading start = kernels::read_host();
  std::this_thread::sleep_for(std::chrono::duration<double>(kernels::HostMonitor::kWindow));
  const kernels::HostLoad load = monitor.since(start);
  if (load.other_cores <= kernels::kBusyCores) return;
  std::fprintf(stderr, "paceline: this machine is busy (%s): samples taken so are marked\n",
               cores_text(load).c_str());
}

std::vector<Sample> measure_all(const BenchOptions& options, const Backend& backend,
                                const base::Machine& machine, const std::vector<BenchCase>& cases,
                                std::vector<Sample> samples, Journal& journal) {
  std::vector<std::string> done;
  for (const Sample& s : samples) done.push_back(sample_label(s));
  const auto known = [&](const BenchCase& c) {
    return std::find(done.begin(), done.end(), label(c)) != done.end();
  };
  const auto left = static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(), [&](const BenchCase& c) { return !known(c); }));
  kernels::HostMonitor monitor;
  if (left > 0) warn_if_busy(monitor);
  kernels::MeasureOptions how =
      options.choice.quick ? kernels::kQuickMeasure : kernels::MeasureOptions{};
  how.together = options.together;
  Progress progress("bench", left);
  for (const BenchCase& c : cases) {
    if (known(c)) continue;
    const kernels::HostReading start = kernels::read_host();
    kernels::Timing timing;
    try {
      timing = kernels::measure(*c.operation, c.c, backend, how);
    } catch (const kernels::Unsupported& refused) {
      std::fprintf(stderr, "paceline: left out: %s\n", refused.what());
      progress.step();
      continue;
    }
    samples.push_back(kernels::make_sample(c, machine, timing, monitor.since(start),
                                           options.together, PACELINE_VERSION));
    journal.add(samples.back());
    progress.step();
  }
  return samples;
}

std::string rate_text(const Sample& s) {
  if (s.flops.value > 0 && s.flops.value > 8 * s.bytes.value)
    return base::format_fixed(s.flops.value / s.median.value / 1e9, 1) + " GFLOP/s";
  if (s.bytes.value <= 0) return "";
  return base::format_fixed(s.bytes.value / s.median.value / 1e9, 2) + " GB/s";
}

std::string samples_table(const std::vector<Sample>& samples) {
  int width = 0;
  for (const Sample& s : samples) width = std::max(width, base::columns(sample_label(s)));
  std::string text;
  for (const Sample& s : samples) {
    text += base::pad_right(sample_label(s), width) +
            base::pad_left(base::format_seconds(s.median), 12) +
            base::pad_left("+-" + base::format_percent(s.spread.value / s.median.value / 2), 11) +
            base::pad_left(rate_text(s), 16) + (s.busy ? "  busy" : "") + "\n";
  }
  return text;
}

std::string summary(const std::vector<Sample>& samples, const base::Machine& machine,
                    std::size_t busy, std::size_t left_out) {
  std::string text = std::to_string(samples.size()) + " samples on " + machine.backend + " (" +
                     base::one_line(machine.device) + "), timed by " +
                     std::string(kernels::timer_name());
  if (left_out > 0)
    text += "; " + std::to_string(left_out) + " left out: no kernel of this backend, or too large";
  text += "\n";
  if (busy > 0)
    text += std::to_string(busy) +
            " of them are marked busy and count for nothing: measure them "
            "again on an idle machine with --resume\n";
  return text;
}

std::string samples_json(const std::vector<Sample>& samples, std::size_t busy) {
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-bench-1").field("version", PACELINE_VERSION);
  json.field("busy", static_cast<std::uint64_t>(busy)).key("samples").begin_array();
  for (const Sample& s : samples) write_sample(json, s);
  json.end_array().end_object();
  return json.finish();
}

std::size_t busy_among(const std::vector<Sample>& samples) {
  return static_cast<std::size_t>(
      std::count_if(samples.begin(), samples.end(), [](const Sample& s) { return s.busy; }));
}

/// Messages and collectives in place of kernels.
int bench_ranks(const BenchOptions& options, const Backend& backend) {
  if (const std::optional<int> status = start_ranks(options.ranks, backend)) return *status;
  const kernels::Communicator world = kernels::world_of(backend);
  const bool first = world.rank() == 0;
  Outputs outputs("");
  std::optional<reports::OutputFile> out = outputs.open(first ? options.out : "");
  Journal journal(out, {});
  const std::vector<Sample> samples = collective_samples(
      world, backend, options.choice.quick, [&](const Sample& sample) { journal.add(sample); });
  if (!first) return kDone;
  const std::size_t busy = busy_among(samples);
  journal.write(base::samples_complete_line(samples.size(), busy));
  if (out) out->commit();
  answer(samples_table(samples) + summary(samples, kernels::machine_of(backend), busy, 0),
         options.json.empty() ? "" : samples_json(samples, busy), options.json);
  return kDone;
}

/// Options that would change nothing are refused: someone expects them to.
void check_options(const BenchOptions& o) {
  struct Option {
    const char* name;
    bool given, with_ranks, with_check, with_kernels;
  };
  const Option all[] = {{"--ranks", o.ranks > 1, true, false, false},
                        {"--check", o.check, false, true, false},
                        {"--together", o.together > 1, false, false, true},
                        {"--only", !o.choice.only.empty(), false, true, true},
                        {"--types", !o.choice.types.empty(), false, true, true},
                        {"--quick", o.choice.quick, true, false, true},
                        {"--for", !o.scenario.empty(), false, false, true},
                        {"--set", !o.set.empty(), false, false, !o.scenario.empty()},
                        {"--out", !o.out.empty(), true, false, true},
                        {"--resume", !o.resume.empty(), false, false, true},
                        {"--json", !o.json.empty(), true, false, true}};
  for (const Option& option : all) {
    const auto refuse = [&](const char* what) {
      throw base::Error(option.name, what, "leave it out");
    };
    if (!option.given) continue;
    if (o.ranks > 1 && !option.with_ranks)
      refuse("means nothing to --ranks, which measures messages and collectives");
    if (o.ranks > 1) continue;
    if (o.check && !option.with_check) refuse("means nothing to --check, which measures nothing");
    if (!o.check && !option.with_kernels) refuse("changes a scenario, and there is no --for");
  }
}

int run_bench(const BenchOptions& options) {
  check_options(options);
  if (!options.scenario.empty() && !options.choice.types.empty())
    throw base::Error("--types", "a scenario's kernels have the scenario's types",
                      "--set precision=bf16 changes them");
  const Backend& backend = kernels::backend_named(options.backend);
  if (options.check) return check_kernels(options, backend);
  if (options.ranks > 1) return bench_ranks(options, backend);
  if (options.together > 1 && options.backend != "cpu")
    throw base::Error("--together", "is for the cpu backend: every rank of a GPU has its own");
  const base::Machine machine = kernels::machine_of(backend);
  std::size_t left_out = 0;
  const std::vector<BenchCase> cases =
      options.scenario.empty()
          ? kernels::bench_cases(backend, options.choice, left_out)
          : scenario_cases(options.scenario, options.set, options.choice, backend, left_out);
  if (cases.empty())
    throw base::Error("bench",
                      std::string("no kernel of the choice can be measured on ") + backend.name);
  const std::vector<Sample> kept = resumed_samples(options, machine);
  Outputs outputs(options.scenario);
  std::optional<reports::OutputFile> out = outputs.open(options.out);
  Journal journal(out, kept);
  const std::vector<Sample> samples = measure_all(options, backend, machine, cases, kept, journal);
  const std::size_t busy = busy_among(samples);
  journal.write(base::samples_complete_line(samples.size(), busy));
  if (out) out->commit();
  answer(samples_table(samples) + summary(samples, machine, busy, left_out),
         options.json.empty() ? "" : samples_json(samples, busy), options.json);
  return kDone;
}

}  // namespace

void add_bench(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App& bench =
      add_command(program, "bench", "measure the kernels on this machine", kBenchHelp);
  add_option(bench, "--backend", options->backend, "cpu (the default) or cuda", {.value = "NAME"});
  add_option(
      bench, "--only", options->choice.only,
      "these kernels only; those of libraries (attention-cudnn) are\nmeasured when they are named",
      {.value = "A,B,...", .separator = ','});
  add_option(bench, "--types", options->choice.types,
             "types of the activations; default fp32 on cpu, bf16 and\nfp8 on cuda",
             {.value = "A,B,...", .separator = ','});
  add_option(bench, "--for", options->scenario,
             "the shapes of a step of this scenario in place of a grid", {.value = "SCENARIO"});
  add_set_option(bench, options->set);
  add_flag(bench, "--quick", options->choice.quick, "fewer shapes and repetitions");
  add_option(bench, "--ranks", options->ranks,
             "with 2 and more: messages and collectives between so many\nprocesses, in place of "
             "kernels",
             {.value = "N", .least = 1, .most = 4096});
  add_option(bench, "--together", options->together,
             "threads that run every kernel at the same time, as the\nranks of a processor do that "
             "share its memory (default 1)",
             {.value = "N", .least = 1, .most = base::kMostTogether});
  add_flag(bench, "--check", options->check, "compare kernels with their references instead");
  add_option(bench, "--out", options->out, "write every sample as it comes",
             {.value = "FILE.jsonl"});
  add_option(bench, "--resume", options->resume, "take over the samples of such a file",
             {.value = "FILE"});
  add_json_option(bench, options->json);
  on_call(bench, [options, &exit_code] { exit_code = run_bench(*options); });
}

}  // namespace paceline::cli
