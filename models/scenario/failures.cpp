// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/failures.hpp"

#include <array>

namespace paceline::models {
namespace {

constexpr std::array<base::Named<CheckpointMode>, 3> kModes{
    {{"blocking", CheckpointMode::Blocking},
     {"background", CheckpointMode::Background},
     {"memory", CheckpointMode::Memory}}};

/// 0 where the key is missing; a time above 0 otherwise.
double time_above_zero(base::Fields& fields, const char* key, const char* example) {
  if (!fields.has(key)) return 0;
  const double seconds = fields.seconds(key).value;
  if (seconds <= 0) fields.fail(key, "is not above 0", std::string("for example ") + example);
  return seconds;
}

void read_checkpoints(base::Fields fields, FailureSettings& f) {
  f.mode = fields.choice<CheckpointMode>("mode", kModes, f.mode);
  f.every = time_above_zero(fields, "every", "30 min; without it Daly's optimum is taken");
  if (f.mode != CheckpointMode::Memory) {
    f.storage = fields.rate("storage").value;
    if (f.storage <= 0)
      fields.fail("storage", "is not above 0", "what it takes from the whole job: 100 GB/s");
  } else if (fields.has("storage")) {
    fields.fail("storage", "means nothing with mode: memory", "mode: blocking or background");
  }
  fields.done();
}

}  // namespace

FailureSettings read_failures(base::Fields fields) {
  FailureSettings f;
  f.device_mtbf = time_above_zero(fields, "device_mtbf", "50000 h");
  f.node_mtbf = time_above_zero(fields, "node_mtbf", "20000 h");
  f.job_mtbf = time_above_zero(fields, "job_mtbf", "24 h");
  if (f.device_mtbf + f.node_mtbf + f.job_mtbf <= 0)
    fields.fail("device_mtbf", "nothing fails: no mean time between failures",
                "device_mtbf, node_mtbf or job_mtbf");
  f.shape = fields.number("shape", 0.1, 10, f.shape);
  f.detect = time_above_zero(fields, "detect", "1 min");
  f.restart = fields.seconds("restart").value;
  if (f.restart <= 0) fields.fail("restart", "is not above 0", "for example 5 min");
  read_checkpoints(fields.map("checkpoints"), f);
  f.runs = static_cast<int>(fields.integer("runs", 10, 100'000, f.runs));
  f.seed = static_cast<std::uint64_t>(fields.integer("seed", 0, 1'000'000'000, 1));
  fields.done();
  return f;
}

}  // namespace paceline::models
