// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result.hpp"

/// A run of months with things that break: steps become work, and what interrupts it is drawn.
namespace paceline::sim {

/// What a failure does to the job.
enum class Strike : std::uint8_t {
  Stop,  ///< it stands until it is brought back
  Wait,  ///< it stands for `lasts` and goes on, as when a link is down for a moment
  Slow,  ///< it goes on at `pace` for `lasts`
};
/// Which nodes are then away for `lasts`.
enum class Takes : std::uint8_t { Nothing, Node, Site };

/// One kind of failure. Times between them are exponential, or Weibull with another shape: below 1
/// they come in bunches.
struct FailureProcess {
  std::string name;
  double mtbf = 0;     ///< s, of the whole job: that of one part over the number of parts
  double shape = 1;    ///< of the Weibull law
  double detect = 0;   ///< s until the job knows and stops
  double restart = 0;  ///< s from there until work goes on, by the last checkpoint
  Strike strike = Strike::Stop;
  Takes takes = Takes::Nothing;
  double lasts = 0;        ///< s; of Stop, until the nodes are back
  double pace = 1;         ///< of Slow: work a second
  bool warned = false;     ///< it is known before: nothing to detect
  double notice = 0;       ///< s of warning, where `warned`; a checkpoint that fits in is saved
  bool unpaid = false;     ///< nodes cost nothing while they are away
  bool taken_out = false;  ///< Slow: its node is then taken out, as a Stop of `process_after`
  std::size_t process_after = 0;
  bool traced = false;  ///< only when the trace says so
  std::string where{};  ///< its key in the scenario, for messages; "": there is none
};

/// A failure whose time is known. `part`: node or site; -1: any.
struct TracedFailure {
  double at = 0;
  std::size_t process = 0;
  int part = -1;
  double lasts = 0;
};

/// After every `every` seconds of work the job stands still for `blocking` seconds; what was saved
/// can be used `written` seconds after that (copies to storage run beside the work).
struct Checkpoints {
  double every = 3600;
  double blocking = 0;
  double written = 0;
};

/// A job that goes on without some nodes.
struct Degraded {
  double pace = 1;     ///< work a second; 0: it cannot
  double regroup = 0;  ///< s it stands until it does
};

/// The nodes of a job, and what happens when some are away.
struct Fleet {
  int nodes = 0;                          ///< 0: not told apart, nothing waits for them
  std::vector<std::vector<int>> sites{};  ///< nodes of each
  int spares = 0;
  double step = 0;  ///< s of work: the unfinished step is lost where the job goes on
  /// By the nodes that are away, ascending. Empty: the job waits until all are there.
  std::function<Degraded(const std::vector<int>& lost)> goes_on{};
};

/// What one kind of failure cost a run, checkpoints aside.
struct RunCause {
  double seconds = 0;
  int count = 0;
};

/// One sampled run. Work that a failure undoes counts as lost, not as work; at less than its pace,
/// the rest of the time counts as `slow`.
struct RunSample {
  double wall = 0;                                                     ///< s from begin to end
  double work = 0, checkpoint = 0, lost = 0, detect = 0, restart = 0;  ///< with the next two adds
  double wait = 0, slow = 0;                                           ///< up to wall
  double held = 0;  ///< s that all nodes are paid for: spares count, what is unpaid does not
  int failures = 0;
  std::vector<RunCause> causes;  ///< by process
  std::vector<RunSpan> spans;    ///< only where asked for
  double goodput() const { return wall > 0 ? work / wall : 1; }
};

/// A run that needs `work` seconds of steps.
struct RunSetting {
  double work = 0;
  Checkpoints checkpoints;
  std::vector<FailureProcess> failures;
  std::vector<TracedFailure> trace{};  ///< by time
  Fleet fleet{};
};

/// Failures also strike while the job detects, restarts and saves; one that strikes while it is
/// down begins the restart anew, and is charged for what it adds. A node that is away does not
/// fail, one that is slow does not become slow again. Throws base::Error for a time that is not
/// above 0, and where the run is not over after `kMostFailures`, at the key of what failed most.
RunSample sample_run(const RunSetting& setting, std::uint64_t seed, bool with_spans = false);
RunSample sample_run(double work, const Checkpoints& checkpoints,
                     const std::vector<FailureProcess>& failures, std::uint64_t seed,
                     bool with_spans = false);
inline constexpr int kMostFailures = 1'000'000;

/// Means over sampled runs, with their confidence.
struct RunEstimates {
  Estimate goodput;                   ///< share of time that is work
  Estimate wall, held;                ///< s
  std::vector<double> doing;          ///< s by Doing, of a run
  std::vector<double> cause_seconds;  ///< by process, of a run
  std::vector<double> cause_counts;
};
RunEstimates estimate_runs(const RunSetting& setting, int runs, std::uint64_t seed);

/// Mean share of time that is work, over `runs` sampled runs, with its confidence.
Estimate expected_goodput(double work, const Checkpoints& checkpoints,
                          const std::vector<FailureProcess>& failures, int runs,
                          std::uint64_t seed);

/// The same in closed form for one exponential process and checkpoints that are written at once:
/// t / [M e^(R/M) (e^((t + C)/M) - 1)], with M the mtbf, t and C the work and the standstill of a
/// checkpoint, R detection and restart (Daly, A higher order estimate of the optimum checkpoint
/// interval, FGCS 22, 2006, eq. 20).
double exact_goodput(const Checkpoints& checkpoints, const FailureProcess& failure);

/// The longest restart R with which exact_goodput at Daly's interval reaches `goodput`, s; negative
/// where no restart is short enough. R = M ln(t / (goodput M (e^((t + C)/M) - 1))).
double longest_restart(double blocking, double mtbf, double goodput);

/// Daly's optimum (same paper, eq. 37): sqrt(2 C M) [1 + sqrt(C / 2M) / 3 + C / 18M] - C below C =
/// 2 M, else M. Young's is its first term.
double daly_interval(double blocking, double mtbf);
double young_interval(double blocking, double mtbf);

}  // namespace paceline::sim
