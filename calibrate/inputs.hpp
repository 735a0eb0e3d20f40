// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/sample.hpp"
#include "models/cost/nccl_log.hpp"
#include "models/hardware/profile.hpp"

/// What calibrate reads: samples of bench, Google Benchmark's JSON, logs of nccl-tests.
namespace paceline::calibrate {

/// A sample and the line it stood on, "samples.jsonl:7:1".
struct Measured {
  base::Sample sample;
  std::string where;
};

struct Inputs {
  base::Machine machine;  ///< the device is empty where only logs were read that name none
  std::vector<Measured> samples;
  std::vector<models::NcclLog> logs;
  std::vector<models::ProfileInput> files;  ///< `used` counts what is in `samples` and `logs`
  std::vector<std::string> notes;           ///< what was left out or assumed, one line each
};

struct InputOptions {
  bool busy = false;  ///< samples of a busy machine count too
  int nodes = 0;      ///< of logs that do not say; 0: one node up to 8 ranks, else an Error
};

/// base::Error for a file that is none of the three, for samples of kernels there are none of, and
/// where devices or backends differ from file to file.
Inputs read_inputs(const std::vector<std::string>& paths, const InputOptions& options);
/// The same of texts, with the names they go by.
struct NamedText {
  std::string name, text;
};
Inputs parse_inputs(const std::vector<NamedText>& texts, const InputOptions& options);

/// Google Benchmark's --benchmark_out_format=json, of benchmarks that are named
/// "gemm/forward/fp32/m:512/n:512/k:512". Repetitions become one sample each, with their median and
/// quartiles; others names are skipped and counted in `skipped`. The device is that of the
/// context's "device", else a processor of its host. base::Error when it is no such file.
base::SampleFile parse_google_benchmark(std::string_view text, const std::string& file,
                                        int& skipped);

}  // namespace paceline::calibrate
