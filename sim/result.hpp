// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/energy/power.hpp"
#include "models/money/prices.hpp"
#include "sim/outer/run_span.hpp"
#include "sim/staleness.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// Above this share of a device's memory real runs slow down: the allocator starts to free and
/// refill its cache.
inline constexpr double kNearlyFull = 0.92;

/// Peak of one rank class, split by part at the moment of the peak.
struct MemoryPeak {
  int lane = 0;
  int representative = 0;  ///< first rank of the class
  std::int64_t members = 1;
  double peak_bytes = 0;      ///< allocated
  double reserved_bytes = 0;  ///< with allocator overhead and context: compared with capacity
  double capacity_bytes = 0;
  double at_seconds = 0;
  std::array<double, kMemoryParts> parts{};
  double host_bytes = 0;  ///< of this rank in host memory or on drives, through the step
  bool fits() const { return reserved_bytes <= capacity_bytes; }
  bool nearly_full() const { return fits() && reserved_bytes > kNearlyFull * capacity_bytes; }
};

/// A link on which transfers slowed each other down.
struct SharedLink {
  static constexpr std::size_t kBins = 20;
  std::string name;
  std::uint32_t alike = 1;  ///< links that carry the same flows, this one included
  double bandwidth = 0;     ///< bytes/s
  double bytes = 0;         ///< moved in the step
  double busy = 0;          ///< seconds with at least one transfer
  double delay = 0;         ///< seconds its transfers took longer than alone, summed
  std::array<double, kBins> utilisation{};  ///< 0..1, in equal parts of the step
};

/// Of engines that let transfers share links.
struct NetworkResult {
  double alone_time = 0;                   ///< step time with every transfer alone on its links
  std::int64_t transfers = 0, slowed = 0;  ///< over links that can get full; those that took longer
  std::vector<SharedLink> links;           ///< the most delayed first
};

/// Of a sample, with a 95 % confidence interval; no bound where the sample is too small for one.
struct Estimate {
  double value = 0;
  std::optional<double> low, high;
};

/// Step times of repeated steps under `jitter` of the scenario, seconds.
struct StepDistribution {
  int repetitions = 0;
  std::uint64_t seed = 0;
  Estimate mean;           ///< interval of a normal mean
  Estimate p50, p95, p99;  ///< intervals between order statistics
};

/// What of the scenario's `foreign` work ran in idle time, of one pipeline.
struct ForeignDone {
  int pieces = 0, done = 0;
  double piece_seconds = 0;
};

/// Of one step over all ranks (of a worker, its share of the waits for exchanges included), J,
/// without the building's share. Low and high: all ranges of power
/// at their low or high end.
/// What clocks that leave the step its length save.
struct SlackClocks {
  std::vector<double> clock;   ///< by lane: mean share of the highest, over its passes
  std::vector<double> joules;  ///< by lane: saved by one device
  models::PowerRange saved{};  ///< J of a step, of all devices
};

struct Energy {
  models::PowerRange step{};                                         ///< devices and hosts
  models::PowerRange host{};                                         ///< of it, the hosts
  std::array<models::PowerRange, models::kPowerClasses> by_class{};  ///< of it, devices
  std::vector<double> watts;  ///< by lane: mean power of one of its devices
  std::optional<SlackClocks>
      slack;  ///< where the scenario asks: what the numbers above are lower by
};

/// USD. Carbon in kg, of energy with the building's share.
struct Money {
  models::Cost step;
  double billion_tokens = 0;  ///< of 10^9 tokens
  double run = 0;             ///< of run_tokens; 0 where they are not given
  double hours_a_day = 24;    ///< in which the run works
  std::vector<std::string> sources;
};

/// What exchanges carry over one link, one way.
struct OuterLink {
  std::string name;
  double bytes = 0;        ///< a round, on average
  double utilisation = 0;  ///< share of its bandwidth over all time
};

/// Of workers that exchange now and then, in the steady state, or over all rounds where they
/// differ; means over the workers.
struct OuterResult {
  int workers = 1, inner_steps = 1;
  double round_seconds = 0;
  double step_seconds = 0;                ///< the same per inner step
  double utilisation = 0;                 ///< inner steps over all time
  double exposed_seconds = 0;             ///< of a round, waited for or spent on codecs
  double codec_seconds = 0;               ///< of a round, on a worker's compute stream
  double sent_bytes = 0;                  ///< by a worker in a round, one way
  double tokens_per_s = 0;                ///< of all workers
  double data_parallel_tokens_per_s = 0;  ///< of the same workers exchanging in every step
  /// Bytes that leave a worker, or its site where sites are known, in a step of all workers.
  double egress_bytes = 0, data_parallel_egress_bytes = 0;
  double data_parallel_step_seconds = 0;
  double data_parallel_joules = 0;          ///< of a worker in such a step; 0: not known
  double data_parallel_billion_tokens = 0;  ///< USD; 0: no prices
  double missed = 0;  ///< share of the workers' rounds whose exchange did not take place
  std::vector<OuterLink> links;
};

/// Steps of a run in which the same codecs are used.
struct PhaseResult {
  std::int64_t first_step = 1, last_step = 1;
  double step_seconds = 0;
};

/// What one kind of failure does to a run, on average.
struct OutlookCause {
  std::string name;
  double count = 0;  ///< in a run
  double share = 0;  ///< of the time: lost, detected, restarted, waited for, slow
};

/// A job that goes on without one of its nodes: mean over the nodes.
struct OneLost {
  double pace = 1;     ///< tokens a second over those of the whole job
  double regroup = 0;  ///< s it stands until it goes on
};

/// Of the run with failures and checkpoints.
struct RunOutlook {
  Estimate goodput;                   ///< share of the time that is steps
  Estimate run_seconds;               ///< mean
  std::optional<Estimate> run_money;  ///< USD; nothing where no price is known
  double mtbf = 0;                    ///< s, of what stops the whole job; 0: nothing does
  double checkpoint_bytes = 0;        ///< of the whole job
  double every = 0;                   ///< s of work between checkpoints
  double blocking = 0;                ///< s that one stops the job
  int runs = 0;                       ///< sampled
  std::uint64_t seed = 0;
  std::string recovery;                 ///< name of the policy
  std::array<double, kDoings> doing{};  ///< share of the time, by Doing
  std::vector<OutlookCause> causes;
  std::optional<OneLost> one_lost;  ///< where the job goes on
  double sample_seconds = 0;        ///< of the run whose spans these are
  std::vector<RunSpan> sample;      ///< one run; checkpoints belong to the work before them
  std::vector<double> sample_work;  ///< in equal parts of it, the share of the time that is work
  int spans_left_out = 0;           ///< after the last of `sample`, where it was read
};

/// Every engine's answer. Times in seconds, sizes in bytes.
struct Result {
  std::string engine;    ///< reference, simgrid, cpu, cuda
  std::string fidelity;  ///< of transfers in simgrid: chunk, fluid, alpha-beta; else empty
  double step_time = 0;
  double step_time_low = 0, step_time_high = 0;  ///< band from the profile's residuals
  double tokens_per_s = 0, samples_per_s = 0;
  double run_tokens = 0;            ///< of the whole run; 0 = not asked
  double run_seconds = 0;           ///< at this step time, without failures and checkpoints
  double run_device_seconds = 0;    ///< times the devices used
  double mfu = 0, hfu = 0;          ///< of the peak of the compute precision, all ranks
  double model_flops = 0;           ///< per step, whole job
  double hardware_flops = 0;        ///< with recomputation
  double bubble_makespan = 0;       ///< 1 - busiest useful compute / makespan
  double bubble_longest_stage = 0;  ///< same over the longest single stage
  int critical_lane = 0;
  PartSeconds breakdown{};                       ///< adds up to step_time
  std::vector<MemoryPeak> memory;                ///< per lane
  std::array<double, kStreams> traffic_bytes{};  ///< sent by all ranks in one step, by stream
  std::optional<NetworkResult> network;
  std::optional<Staleness> staleness;            ///< where updates stand in the Program
  std::optional<StepDistribution> distribution;  ///< under jitter; all else is without
  std::optional<ForeignDone> foreign;            ///< no other number here counts it
  std::optional<OuterResult> outer;              ///< all else is of one worker
  std::vector<PhaseResult> phases;               ///< all else is of the longest; empty: one phase
  std::optional<Energy> energy;                  ///< nothing: a device's power is not known
  double pue = 1;                                ///< energy of the building over that of `energy`
  std::optional<double> carbon;                  ///< kg of CO2 equivalent per kWh
  std::optional<Money> money;                    ///< nothing: no prices were given
  std::optional<RunOutlook> outlook;             ///< where `failures` are given
  std::vector<std::string> assumptions, warnings;
  bool fits() const;
};

}  // namespace paceline::sim
