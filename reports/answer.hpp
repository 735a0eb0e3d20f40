// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"
#include "sim/result.hpp"

namespace paceline::reports {

/// Who a lane stands for; parallel to Result::memory.
struct RankClass {
  std::string ranks;  ///< "ranks 0-15", "ranks 0-3, 16-19, …"
  int pipeline_rank = 0;
  std::vector<int> stages;  ///< global stage numbers it holds
  std::string ends;         ///< "embedding", "head", "embedding and head" or ""
  std::string at;           ///< what ran when its memory peaked, "" when unknown
};

/// Everything a report says about one run, as plain values: printed, written as JSON, read back
/// and compared.
struct Answer {
  std::string version;   ///< of Paceline
  std::string command;   ///< reproduces the answer; no output paths
  std::string scenario;  ///< its name
  std::string file;      ///< as given
  std::string hash;      ///< of the resolved scenario
  std::string stack;
  std::vector<std::string> profiles;
  std::string model;
  std::int64_t parameters = 0;
  std::string machine;  ///< "8 nodes x 8 h100-sxm (dgx-h100)"
  int devices = 0;
  models::Parallel parallel;
  models::ScheduleChoice schedule;
  models::Batch batch;
  std::string precision, recompute, attention, optimizer;
  std::vector<RankClass> classes;
  sim::Result result;  ///< engine, times, memory, assumptions, warnings
};

Answer make_answer(const models::Scenario& scenario, const sim::Prediction& prediction,
                   std::string command);

/// `paceline run x.yaml --set a=b --engine reference`; words but the last, which stand as they are,
/// are quoted for a shell where needed.
std::string run_command(const std::string& file, const std::vector<std::string>& set,
                        const std::string& engine_words);
/// A word as a POSIX shell reads it back: quoted only where needed.
std::string shell_word(std::string_view word);

/// Who lane `lane` of the graph stands for.
RankClass describe_lane(const sim::Prediction& prediction, std::size_t lane);
/// "ranks 0-15, stages 0 4 8 (embedding)".
std::string to_text(const RankClass& rank_class);
std::string describe_machine(const models::Cluster& cluster);
/// none, selective, full, blockwise (4 layers per stage).
std::string describe_recompute(const models::Scenario& scenario);

/// The class whose reserved memory is the largest share of its device; null without classes.
const sim::MemoryPeak* fullest(const sim::Result& result);

}  // namespace paceline::reports
