// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"

/// A run of months with things that break: steps become work, and what interrupts it is drawn.
namespace paceline::sim {

/// One kind of failure. Times between them are exponential, or Weibull with another shape: below 1
/// they come in bunches.
struct FailureProcess {
  std::string name;
  double mtbf = 0;     ///< s, of the whole job: that of one part over the number of parts
  double shape = 1;    ///< of the Weibull law
  double detect = 0;   ///< s until the job knows and stops
  double restart = 0;  ///< s from there until work goes on, by the last checkpoint
};

/// After every `every` seconds of work the job stands still for `blocking` seconds; what was saved
/// can be used `written` seconds after that (copies to storage run beside the work).
struct Checkpoints {
  double every = 3600;
  double blocking = 0;
  double written = 0;
};

enum class Doing : std::uint8_t { Work, Checkpoint, Lost, Detect, Restart };
std::string_view to_text(Doing doing);
struct RunSpan {
  Doing doing;
  double begin = 0, end = 0;
};

/// One sampled run. Work that a failure undoes counts as lost, not as work.
struct RunSample {
  double wall = 0;                                                     ///< s from begin to end
  double work = 0, checkpoint = 0, lost = 0, detect = 0, restart = 0;  ///< adds up to wall
  int failures = 0;
  std::vector<RunSpan> spans;  ///< only where asked for
  double goodput() const { return wall > 0 ? work / wall : 1; }
};

/// A run that needs `work` seconds of steps. Failures also strike while the job detects, restarts
/// and saves; one that strikes while it is down begins the restart anew. Throws base::Error for a
/// time that is not above 0, and where after `kMostFailures` no end is in sight.
RunSample sample_run(double work, const Checkpoints& checkpoints,
                     const std::vector<FailureProcess>& failures, std::uint64_t seed,
                     bool with_spans = false);
inline constexpr int kMostFailures = 10'000'000;

/// Mean share of time that is work, over `runs` sampled runs, with its confidence.
Estimate expected_goodput(double work, const Checkpoints& checkpoints,
                          const std::vector<FailureProcess>& failures, int runs,
                          std::uint64_t seed);

/// The same in closed form for one exponential process and checkpoints that are written at once:
/// t / [M e^(R/M) (e^((t + C)/M) - 1)], with M the mtbf, t and C the work and the standstill of a
/// checkpoint, R detection and restart (Daly, A higher order estimate of the optimum checkpoint
/// interval, FGCS 22, 2006, eq. 20).
double exact_goodput(const Checkpoints& checkpoints, const FailureProcess& failure);

/// Daly's optimum (same paper, eq. 37): sqrt(2 C M) [1 + sqrt(C / 2M) / 3 + C / 18M] - C below C =
/// 2 M, else M. Young's is its first term.
double daly_interval(double blocking, double mtbf);
double young_interval(double blocking, double mtbf);

}  // namespace paceline::sim
