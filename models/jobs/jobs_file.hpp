// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"
#include "models/scenario/set_expression.hpp"

/// Many jobs in many regions: what `paceline jobs FILE.yaml` reads (docs/formats.md, Jobs).
namespace paceline::models {

/// Devices that stand together, all alike.
struct JobRegion {
  std::string name;
  int devices = 0;
  double electricity = 0;       ///< USD per kWh
  double device_hour = 0;       ///< USD of rent, while a job holds the device, electricity
                                ///< included; 0: owned
  base::BytesPerSecond uplink;  ///< one way, into the network between regions
};

/// Between two regions, each way.
struct JobLink {
  base::BytesPerSecond rate;
  base::Seconds latency;
};

/// What a kind of job computes in one step. Times are of one microbatch through the whole model on
/// one device: k stages take their share of it each, and `overhead` besides.
struct JobKind {
  std::string name;
  base::Seconds forward, backward;
  base::Seconds overhead;  ///< of each forward and each backward of a stage
  base::Bytes activation;  ///< that a microbatch sends from stage to stage, and back
  int layers = 0;          ///< a stage is whole layers, and there are at most as many; 0: any split
  int microbatches = 1;    ///< of a step
  double step_tokens = 0;  ///< 0: not known, jobs state their steps
  std::string schedule;    ///< of the pipeline
  base::Bytes state;       ///< weights and optimizer: what moves with the job; 0: not known
  int least = 1;           ///< stages; memory needs them
  int most = 0;            ///< stages at most; 0: no limit
  /// A scenario file in place of the times: the job is its pipeline, on `unit` devices a stage.
  std::optional<base::Document> scenario;
  int unit = 1;
  double cap = 0;          ///< W of a device at most, `power.cap` of the scenario; 0: none
  double power_share = 1;  ///< of what a device draws at work, at `power.clock` of the scenario
  std::string where;       ///< "file:line:column: kinds", for messages
};

struct Job {
  std::string name;
  std::size_t kind = 0;
  double arrives = 0;  ///< s
  double steps = 0;
  int tier = 0;  ///< higher ones come first, and may stop lower ones
};

/// Devices that jobs cannot have for a while: they go over as they become free.
struct Reservation {
  std::size_t region = 0;
  int devices = 0;
  double from = 0, until = 0;  ///< s
};

/// W of one device: while it computes for a job, and while it waits in one.
struct JobPower {
  double active = 0, idle = 0;
  double pue = 1;
};

/// What is drawn anew for each instance.
struct RandomJobs {
  int instances = 1;
  std::uint64_t seed = 1;
  int jobs = 0;                ///< 0: those of the file
  double gap = 0;              ///< s, mean of exponential times between arrivals
  std::vector<double> tokens;  ///< one of them a job
  std::vector<int> devices;    ///< one of them a region; empty: those of the file
  int least_devices = 0;       ///< of all regions together: drawn again until there are as many
  double uplink_low = 0, uplink_high = 0;  ///< bytes/s; 0: those of the file
  bool shuffle_prices = false;             ///< who pays which of the file's prices
};

/// How the queue is served whatever the policy.
struct QueueRules {
  /// Jobs behind one that cannot start may start before it; else it holds them all up.
  bool backfill = false;
  /// Single-region policies wait until the region could give all that the job can use, or all it
  /// has; else they take what is free.
  bool wait_for_full = false;
  /// A job that cannot start stops running ones of lower tiers, the lowest and then the latest
  /// first, if it can start then: they save their state, wait, and go on where there is room.
  bool preempt = false;
  /// While nobody waits, a running job moves to where its policy would put it now if that ends it
  /// earlier, saving and fetching its state included.
  bool resize = false;
  base::BytesPerSecond storage;  ///< at which a region saves and reads states
  std::string where;             ///< "file:line:column: queue", for messages
};

/// A figure of every instance beside a published range, `that` over columns "policy.figure".
struct JobsComparison {
  std::string name, text;
  Expression that;
  std::optional<double> low, high;  ///< published range
  std::optional<double> published;  ///< or a single figure; neither: shown alone
};

/// The median of `that` over instances lies within bounds, in one variant.
struct JobsExpectation {
  std::string text;
  Expression that;
  std::optional<double> least, most;
  std::string variant;  ///< "" is the file as it stands
  std::string says;
};

struct JobsFile {
  std::string name, note, file, hash;
  std::vector<JobRegion> regions;
  /// By region and region, as the file says; rate 0: by uplinks.
  std::vector<std::vector<JobLink>> links;
  bool link_is_minimum = false;  ///< of the two uplinks; else their mean
  JobPower power;
  double egress = 0;  ///< USD per GB between regions
  std::vector<JobKind> kinds;
  std::vector<Job> jobs;  ///< by arrival
  std::vector<Reservation> reserved;
  QueueRules queue;
  std::vector<std::string> policies;
  RandomJobs random;
  std::vector<std::string> assumptions;
};

/// Assumptions that differ from the file: `with` merged over it.
struct JobsVariant {
  std::string name;  ///< "" is the file itself, which comes first
  JobsFile file;
};

struct JobsStudy {
  std::vector<JobsVariant> variants;
  Table columns;  ///< header only: "bace-pipe.jct" for every policy and figure
  std::vector<JobsComparison> compare;
  std::vector<JobsExpectation> expect;
  const JobsFile& base() const { return variants.front().file; }
};

/// Figures a policy has in an instance, in the order of columns: jct jct_median queue run cost
/// energy utilisation makespan devices regions.
inline constexpr std::array<std::string_view, 10> kJobFigures{
    "jct",    "jct_median",  "queue",    "run",     "cost",
    "energy", "utilisation", "makespan", "devices", "regions"};

inline constexpr int kMaxRegions = 64;
inline constexpr int kMaxRegionDevices = 100'000;
inline constexpr int kMaxJobs = 10'000;
inline constexpr int kMaxStages = 1024;

/// Of policies.def, in its order.
std::vector<std::string> job_policy_names();

/// base::Error with file:line:column for anything wrong.
JobsStudy read_jobs(const std::string& file);
JobsStudy read_jobs(const base::Document& document);
/// The file as it stands: no variants, and no expectations of them.
JobsStudy without_variants(JobsStudy study);

}  // namespace paceline::models
