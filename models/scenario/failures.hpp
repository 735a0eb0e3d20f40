// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"

/// What breaks during a run and how it goes on, `failures` of the scenario.
namespace paceline::models {

struct Cluster;
struct Parallel;

/// How a checkpoint is saved.
enum class CheckpointMode : std::uint8_t {
  Blocking,    ///< the job stands still until the storage has all of it
  Background,  ///< until the hosts have it; they write it beside the steps
  Lazy,        ///< copies to the hosts beside forward and backward of the next step, which must be
               ///< done before its update; hosts write beside the steps (DataStates-LLM, arXiv
               ///< 2406.10707)
  Memory,      ///< until the hosts have it, where a restart finds it (Gemini, SOSP 2023)
};

/// What the step of a job that goes on without some nodes depends on.
enum class LostMatters : std::uint8_t {
  Replicas,  ///< how many replicas lost something
  Worst,     ///< how many replicas the stage lost that lost most
  Cells,     ///< how many replicas each stage lost
};

/// ElasWave edits communicators within one second, up to 3.6 times faster than a partial rebuild
/// (arXiv 2510.00606, abstract).
inline constexpr double kEdit = 1, kRebuild = 3.6;

struct RecoveryTraits {
  bool takes_spares = false;
  bool goes_on = false;       ///< with the nodes that are left; needs dp above 1
  bool needs_copies = false;  ///< of all states in other replicas: sharding over all of dp has none
  bool migrates = false;      ///< layers and their states to other stages
  LostMatters depends = LostMatters::Cells;
  double edit = 0;  ///< s until communicators know who is left, unless the scenario says
};

/// A line of recoveries.def; what it does is in sim/recovery.
struct RecoveryPolicy {
  std::string_view name, summary;
  RecoveryTraits traits;
};
std::span<const RecoveryPolicy> recovery_policies();

/// What can fail.
enum class FailureKind : std::uint8_t { Device, Node, Link, Site, Job, Slow, Spot };
std::string_view to_text(FailureKind kind);

/// A line of a trace.
struct FailureEvent {
  double at = 0;  ///< s from the start of the run
  FailureKind kind = FailureKind::Job;
  int part = -1;         ///< device, node, or site by number; -1: the job
  double duration = -1;  ///< s; -1: as the scenario says of the kind
};

struct FailureSettings {
  // Mean times between failures of one part, s; 0: it does not fail.
  double device_mtbf = 0, node_mtbf = 0, job_mtbf = 0, link_mtbf = 0, site_mtbf = 0, slow_mtbf = 0;
  double shape = 1;         ///< of the Weibull law of the times between; below 1: in bunches
  double detect = 0;        ///< s until the job knows
  double restart = 0;       ///< s from there until steps go on
  double repair = 0;        ///< s until a node that failed is back; 0: within the restart
  double link_flap = 0;     ///< s a link is down
  double link_timeout = 0;  ///< s the job waits for a link before it counts as a failure; 0: always
  double site_outage = 0;   ///< s a site is away
  double slow_factor = 1;   ///< a slow node takes this many times as long
  double slow_for = 0;      ///< s
  double slow_notice = 0;   ///< s until somebody takes a slow node out; 0: nobody does
  double spot_mtbf = 0;     ///< s a node is kept before it is taken away
  double spot_back = 0;     ///< s until another comes
  double spot_notice = 0;   ///< s of warning
  std::vector<FailureEvent> trace;  ///< by time
  const RecoveryPolicy* recovery = nullptr;
  int spares = 0;                ///< nodes
  double edit = 0;               ///< s, RecoveryTraits::edit
  bool migrates_beside = false;  ///< states move beside the next step
  CheckpointMode mode = CheckpointMode::Blocking;
  double every = 0;    ///< s of work between checkpoints; 0: Daly's optimum
  double storage = 0;  ///< bytes/s that the storage takes from the whole job
  double buffer = 0;   ///< bytes of a node's memory that hold a checkpoint; 0: all of it
  int runs = 200;      ///< sampled
  std::uint64_t seed = 1;
};

/// What of the scenario the reader must know.
struct FailurePlaces {
  const Cluster& cluster;
  const Parallel& parallel;
  std::string folder;          ///< of the scenario, where traces lie
  std::string_view not_whole;  ///< key that forbids going on with fewer nodes; "": none
};

///   failures: {device_mtbf: 50000 h, node_mtbf: 20000 h, restart: 5 min,
///              checkpoints: {mode: background, storage: 100 GB/s}}
/// At least one thing that fails; a restart. base::Error for a time that is not above 0, a part the
/// cluster lacks, a policy that the layout does not allow.
FailureSettings read_failures(base::Fields fields, const FailurePlaces& places);

}  // namespace paceline::models
