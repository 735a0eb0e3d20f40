// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"

/// What `bench` measures and `calibrate` fits: one measurement, one line of samples.jsonl.
namespace paceline::base {

class JsonWriter;

inline constexpr std::string_view kSampleSchema = "paceline-samples-1";

/// What was measured on. Samples of different machines never mix in one fit.
struct Machine {
  std::string backend;  ///< "cpu", "cuda"
  std::string device;   ///< as it names itself: "AMD EPYC 9554", "NVIDIA H200"
  std::string host;     ///< name of the node
  Bytes memory;         ///< that one rank may use; 0 = unknown
  int units = 1;        ///< multiprocessors; 1 for a processor, where a rank is one thread
  bool operator==(const Machine&) const = default;
};

using Extents = std::vector<std::pair<std::string, std::int64_t>>;

struct Sample {
  std::string version;  ///< of Paceline
  Machine machine;
  std::string time;  ///< when it ended, UTC: "2026-01-31T12:00:00Z"

  std::string kernel, pass, type;  ///< "gemm", "forward", "bf16"
  Extents extents;                 ///< {m 4096, n 4096, k 4096}
  std::string beside;              ///< what ran at the same time: "all_reduce"; empty: nothing
  int together =
      1;  ///< threads of the processor that ran it at the same time, each on its own data

  Seconds median, min;  ///< of one call, over the repetitions
  Seconds spread;       ///< between the first and the third quartile
  int repetitions = 1;
  std::int64_t calls = 1;  ///< in each repetition
  Flops flops;             ///< useful work of one call, a multiply-add as two
  Bytes bytes;             ///< the least it must move

  double load_average = 0;            ///< of the last minute
  double other_cores = 0;             ///< processors kept busy by others, or taken by a hypervisor
  bool busy = false;                  ///< too much of that to be believed
  std::optional<double> clock_Hz;     ///< of the multiprocessors or the core
  std::optional<double> temperature;  ///< of the device, degrees Celsius
  std::optional<Watts> power;         ///< of the device, while it ran
};

/// The value of an extent, nothing where there is none of this name.
std::optional<std::int64_t> extent(const Sample& sample, std::string_view name);

/// "gemm forward bf16 m=4096 n=4096 k=4096": what was measured, the same for repeated measurements.
std::string sample_label(const Sample& sample);

/// The object of a line, for documents that hold many.
void write_sample(JsonWriter& json, const Sample& sample);
/// With the newline. All numbers must be finite (checked).
std::string sample_line(const Sample& sample);
/// The last line of a file of so many samples.
std::string samples_complete_line(std::size_t samples, std::size_t busy);

/// Samples of one file, with where each stood.
struct SampleFile {
  std::string file;
  std::string hash;  ///< of its text
  std::vector<Sample> samples;
  std::vector<int> lines;  ///< by sample
  bool complete = false;   ///< false: bench was stopped before the end
  bool cut_short = false;  ///< a last line without an end was left out
};

/// Largest file and longest line that are read, and the most samples of a file.
inline constexpr std::size_t kMaxSampleBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMaxSampleLine = std::size_t{1} << 16;
inline constexpr std::size_t kMaxSamples = 1'000'000;
inline constexpr int kMostTogether = 4096;

/// base::Error (file:line:column) for a line that is no sample of this schema: unknown or missing
/// keys, times that are not positive, rates that contradict time and work.
SampleFile parse_samples(std::string_view text, const std::string& file);
SampleFile read_samples(const std::string& path);

/// "file:line: " of a sample, for messages.
std::string where(const SampleFile& file, std::size_t sample);

}  // namespace paceline::base
