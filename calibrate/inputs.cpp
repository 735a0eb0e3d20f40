// SPDX-License-Identifier: Apache-2.0
#include "calibrate/inputs.hpp"

#include <algorithm>
#include <filesystem>

#include "base/config.hpp"
#include "base/message.hpp"

namespace paceline::calibrate {
namespace {

constexpr int kOneNode = 8;  // ranks that a log is taken to have on one node

std::string name_of(const std::string& path) {
  return base::one_line(std::filesystem::path(path).filename().string());
}

enum class Kind { Samples, GoogleBenchmark, Log };

Kind kind_of(const std::string& text, const std::string& name) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) throw base::Error(base::one_line(name), "is empty");
  if (text[start] != '{') return Kind::Log;
  const std::string_view head = std::string_view(text).substr(start, 1 << 16);
  if (head.find("\"paceline-samples-") != std::string_view::npos) return Kind::Samples;
  if (head.find("\"context\"") != std::string_view::npos) return Kind::GoogleBenchmark;
  // Whatever else it is, the reader of samples says what is wrong with it.
  return Kind::Samples;
}

/// The kernel is one, and has the extents that decide its time.
void check_sample(const base::Sample& s, const std::string& where) {
  const models::KernelKind& kind = models::kernel_kind(s.kernel, where + ": kernel");
  const std::optional<double> size = models::kernel_size(kind, s.extents);
  if (!size)
    throw base::Error(where + ": extents", "a sample of " + s.kernel + " lacks some",
                      "it needs " + std::string(kind.size));
  if (!kind.size.empty() && !(*size > 0))
    throw base::Error(where + ": extents", "one of " + std::string(kind.size) + " is 0");
}

class Reader {
 public:
  explicit Reader(const InputOptions& options) : options_(options) {}

  void add(const std::string& name, const std::string& text) {
    const std::string hash = base::hash_text(text);
    for (const models::ProfileInput& before : inputs_.files)
      if (before.hash == hash)
        throw base::Error(base::one_line(name), "is the same as " + before.file,
                          "name each file once");
    switch (kind_of(text, name)) {
      case Kind::Samples:
        return add_samples(base::parse_samples(text, name));
      case Kind::GoogleBenchmark: {
        int skipped = 0;
        base::SampleFile file = parse_google_benchmark(text, name, skipped);
        if (skipped > 0)
          note(name, std::to_string(skipped) + " benchmarks are not named as kernels are");
        return add_samples(std::move(file));
      }
      case Kind::Log:
        return add_log(text, name, hash);
    }
  }

  Inputs take() {
    for (const models::NcclLog& log : inputs_.logs) {
      if (inputs_.machine.device.empty() && !log.device.empty())
        inputs_.machine = {"cuda", log.device, "", {}, 1};
      check_log_device(log);
    }
    return std::move(inputs_);
  }

 private:
  void note(const std::string& file, const std::string& text) {
    inputs_.notes.push_back(name_of(file) + ": " + text);
  }

  /// One device: the first sample says which.
  void check_machine(const base::Machine& machine, const std::string& where) {
    base::Machine& ours = inputs_.machine;
    if (ours.device.empty()) {
      ours = machine;
      return;
    }
    if (machine.backend != ours.backend)
      throw base::Error(where,
                        "backend " + base::quote(machine.backend) + ", after samples of " +
                            base::quote(ours.backend),
                        "calibrate one backend at a time");
    if (machine.device != ours.device || machine.units != ours.units)
      throw base::Error(where,
                        "measured on " + base::quote(machine.device) + ", after samples of " +
                            base::quote(ours.device),
                        "calibrate one device at a time");
    if (machine.memory.value > 0 && (ours.memory.value <= 0 || machine.memory < ours.memory))
      ours.memory = machine.memory;
  }

  /// Kernels with the caches and the memory to themselves are another machine.
  void check_together(const base::Sample& sample, const std::string& where) {
    const models::KernelKind& kind = models::kernel_kind(sample.kernel);
    if (kind.law == models::KernelLaw::Collective) return;
    if (together_ == 0) together_ = sample.together;
    if (sample.together == together_) return;
    throw base::Error(where,
                      "measured by " + std::to_string(sample.together) +
                          " threads at the same time, after samples by " +
                          std::to_string(together_),
                      "calibrate samples of one --together at a time");
  }

  void add_samples(base::SampleFile file) {
    models::ProfileInput input{name_of(file.file), file.hash, 0, 0, "", ""};
    if (file.samples.empty()) throw base::Error(base::one_line(file.file), "has no samples");
    int busy = 0;
    for (std::size_t i = 0; i < file.samples.size(); ++i) {
      base::Sample& sample = file.samples[i];
      const std::string place = where(file, i);
      check_machine(sample.machine, place);
      check_sample(sample, place);
      check_together(sample, place);
      ++input.samples;
      if (input.first.empty() || sample.time < input.first) input.first = sample.time;
      if (sample.time > input.last) input.last = sample.time;
      if (sample.busy && !options_.busy) {
        ++busy;
        continue;
      }
      ++input.used;
      inputs_.samples.push_back({std::move(sample), place});
    }
    if (busy > 0)
      note(file.file, std::to_string(busy) + " of " + std::to_string(input.samples) +
                          " samples were taken on a busy machine and are left out");
    if (file.cut_short) note(file.file, "the last line was cut short and is left out");
    if (!file.complete && !file.cut_short) note(file.file, "bench was stopped before the end");
    inputs_.files.push_back(std::move(input));
  }

  void add_log(const std::string& text, const std::string& name, const std::string& hash) {
    models::NcclLog log = models::parse_nccl_log(text, base::one_line(name));
    if (log.nodes == 0) log.nodes = options_.nodes;
    if (log.nodes == 0 && log.ranks <= kOneNode) {
      log.nodes = 1;
      note(name, "does not say on how many nodes it ran: one");
    }
    if (log.nodes == 0)
      throw base::Error(base::one_line(name), "does not say on how many nodes it ran",
                        "say --nodes N");
    if (log.ranks % log.nodes != 0)
      throw base::Error(base::one_line(name), std::to_string(log.ranks) +
                                                  " ranks do not spread over " +
                                                  std::to_string(log.nodes) + " nodes");
    const auto rows = static_cast<int>(log.rows.size());
    inputs_.files.push_back({name_of(name), hash, rows, rows, "", ""});
    inputs_.logs.push_back(std::move(log));
  }

  /// A log that names its device must be of the samples' device.
  void check_log_device(const models::NcclLog& log) const {
    if (log.device.empty() || inputs_.machine.device.empty()) return;
    const std::string &theirs = log.device, &ours = inputs_.machine.device;
    const bool same =
        theirs.find(ours) != std::string::npos || ours.find(theirs) != std::string::npos;
    if (!same)
      throw base::Error(
          base::one_line(log.file),
          "a log of " + base::quote(theirs) + ", the samples are of " + base::quote(ours),
          "calibrate one device at a time");
  }

  const InputOptions& options_;
  Inputs inputs_;
  int together_ = 0;  ///< of the kernels so far; 0: none yet
};

}  // namespace

Inputs parse_inputs(const std::vector<NamedText>& texts, const InputOptions& options) {
  Reader reader(options);
  for (const NamedText& text : texts) reader.add(text.name, text.text);
  return reader.take();
}

Inputs read_inputs(const std::vector<std::string>& paths, const InputOptions& options) {
  Reader reader(options);
  for (const std::string& path : paths)
    reader.add(path, base::read_file(path, base::kMaxSampleBytes));
  return reader.take();
}

}  // namespace paceline::calibrate
