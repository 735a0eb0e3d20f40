// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/units.hpp"

/// What a scenario says of its pipeline schedule. The schedules themselves are in sim/schedules.
namespace paceline::models {

/// Fixed: a rank waits for the head of its order. Ready: it takes the best ready action, ranked by
/// the order.
enum class Dispatch : std::uint8_t { Fixed, Ready };

struct DispatchOptions {
  Dispatch policy = Dispatch::Fixed;
  /// Ready: messages of one pass that may wait for one stage; 0: any number.
  int buffers = 0;
  /// Ready: the ranks of a tensor-parallel group agree on every action they choose, which takes
  /// this long. Nothing where tp is 1.
  base::Seconds coordination;
};

/// Options of single schedules; 0: the schedule's default. A schedule names those it takes
/// (ScheduleTraits); others are refused when the scenario is read.
struct ScheduleOptions {
  int slices = 0;           ///< pieces of a sequence (seq1f1b, terapipe)
  int group = 0;            ///< microbatches that go through together (gis, zeropp, roundpipe)
  int update_every = 0;     ///< microbatches between updates of an asynchronous schedule
  int directions = 0;       ///< pipelines over the same devices (amdp)
  double memory_limit = 0;  ///< activations in units of whole-rank microbatches (zb-1p, zb-2p, v-*)
  double skip = 0;          ///< share of the stages a microbatch leaves out (skippipe)
  std::uint64_t seed = 0;   ///< of random processes
  int pools = 0;            ///< groups of ranks that hold the same stages (skippipe)
  bool operator==(const ScheduleOptions&) const = default;
};

struct ScheduleChoice {
  std::string name = "1f1b";  ///< of a file: its path as written
  std::string file;           ///< the user's own order, relative to the working folder; empty: none
  std::string file_text;      ///< what it says; sim/program_file.hpp reads it
  int chunks = 1;             ///< stages per rank
  DispatchOptions dispatch;
  ScheduleOptions options;
};

/// Bits of ScheduleTraits::takes.
enum ScheduleOption : std::uint32_t {
  kTakesChunks = 1,
  kTakesSlices = 2,
  kTakesGroup = 4,
  kTakesUpdateEvery = 8,
  kTakesDirections = 16,
  kTakesMemoryLimit = 32,
  kTakesSkip = 64,
  kTakesSeed = 128,
  kTakesPools = 256,
};

/// What is known of a schedule before any Program is made.
struct ScheduleTraits {
  int chunks = 1;                ///< stages per rank unless the scenario says otherwise
  std::uint32_t takes = 0;       ///< options it understands
  bool uses_times = false;       ///< its order depends on how long stages take
  bool splits_backward = false;  ///< it has B and W instead of BW
  bool asynchronous = false;     ///< updates stand in the order; the pipeline never flushes
};

/// "chunks, group": the keys of the options it takes.
std::string option_names(const ScheduleTraits& traits);

/// Null when no schedule has the name.
const ScheduleTraits* schedule_traits(std::string_view name);

/// `schedule: NAME`, `schedule: {name:, chunks:, ...}` or `schedule: {file:, chunks:, dispatch:}`
/// with a path relative to `folder`; null: the default. Options the schedule does not take are
/// refused; unknown names are left to those who know the schedules.
ScheduleChoice read_schedule(const base::Document& document, const base::Value* value,
                             const std::string& folder = ".");

}  // namespace paceline::models
