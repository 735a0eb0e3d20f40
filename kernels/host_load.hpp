// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <string>
#include <string_view>

/// What else the machine does while something is measured.
namespace paceline::kernels {

/// Counters at one moment, all in seconds.
struct HostReading {
  double wall = 0;  ///< of a steady clock
  double busy = 0;  ///< processor time of all processes, and what a hypervisor took
  double own = 0;   ///< processor time of this process
};

struct HostLoad {
  double other_cores = 0;   ///< processors that others kept busy
  double load_average = 0;  ///< of the last minute
};

/// Above this, measurements on the processor are not believed: a neighbour that shares caches,
/// memory and clock changes them by far more than its own share.
inline constexpr double kBusyCores = 0.15;

/// Seconds of processor time in the text of /proc/stat (its line "cpu "): user, nice, system, irq,
/// softirq and steal. 0 when there is no such line.
double busy_seconds(std::string_view proc_stat, double ticks_per_second);

HostReading read_host();

/// Follows the load over short measurements: the counters only move in ticks of 10 ms, so a window
/// reaches back at least `kWindow`.
class HostMonitor {
 public:
  static constexpr double kWindow = 0.5;  ///< s
  /// `own_ranks`: processes of this measurement on this machine, each counted as one busy core.
  explicit HostMonitor(int own_ranks = 1) : others_of_ours_(own_ranks - 1) { add(read_host()); }
  /// What happened between `start` and now.
  HostLoad since(const HostReading& start);
  HostLoad between(const HostReading& start, const HostReading& now);

 private:
  void add(const HostReading& reading);
  std::deque<HostReading> readings_;
  int others_of_ours_;
};

/// Now, in UTC: "2026-01-31T12:00:00Z".
std::string utc_time();
std::string host_name();
/// Clock of the core this thread runs on, in Hz; 0 where the system does not say.
double core_clock();
/// Memory of the machine and what of it is free, in bytes; 0 where the system does not say.
double total_memory();
double free_memory();
/// Processors this process may use, at least 1.
int core_count();

}  // namespace paceline::kernels
