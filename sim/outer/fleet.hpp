// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "base/rng.hpp"
#include "sim/outer/failures.hpp"

/// What a sampled run keeps account of. Used by sample_run.cpp only.
namespace paceline::sim {

inline constexpr double kNever = 1e300;

/// Throws base::Error for times that mean nothing.
void check_setting(const RunSetting& setting);

/// A failure that has come.
struct Hit {
  std::size_t process = 0;
  int part = -1;  ///< node or site; -1: any
  double lasts = 0;
};

/// When what strikes next.
class Strikes {
 public:
  Strikes(const RunSetting& setting, std::uint64_t seed);
  double at() const;
  /// The next one; its process is drawn anew.
  Hit take();
  base::Rng& rng() { return rng_; }

 private:
  const RunSetting& setting_;
  base::Rng rng_;
  std::vector<double> next_;  ///< by process
  std::size_t earliest_ = 0, traced_ = 0;
  void find();
};

/// Who is away, and what the job makes of it.
class Nodes {
 public:
  explicit Nodes(const Fleet& fleet) : fleet_(fleet), spares_(fleet.spares) { find_state(); }
  bool here(int node) const;
  void take(int node, double back, std::size_t process, bool unpaid);
  double next_return() const;
  /// The next one comes back; the process that took it.
  std::size_t return_next();
  const Degraded& state() const { return state_; }
  /// Process of the first that is away.
  int cause() const { return away_.empty() ? -1 : static_cast<int>(away_.front().process); }
  /// Nodes paid for over those of the job.
  double paid() const;

 private:
  struct Away {
    int node;
    double back;
    std::size_t process;
    bool unpaid, replaced;
  };
  const Fleet& fleet_;
  int spares_;
  std::vector<Away> away_;
  Degraded state_;  ///< with those that are away now
  std::vector<int> lost() const;
  void fill();
  void find_state();
};

/// The stops that the job stands for at once: each is charged for what those before it leave.
class Stands {
 public:
  struct Stop {
    int cause;
    double until;  ///< s, if it were alone
  };
  void add(int cause, double until);
  void clear() { stops_.clear(); }
  /// Whose the time from `now` on is; nothing where `last`, the last one, has all of it.
  std::optional<Stop> first(double now, int last) const;

 private:
  std::vector<Stop> stops_;  ///< by time
};

/// How many failures came, also to nodes that are away: the run must end some time.
class Came {
 public:
  explicit Came(const RunSetting& setting) : setting_(setting), of_(setting.failures.size()) {}
  /// `done`, `now`: s of work and of the run. Throws base::Error after kMostFailures.
  void add(std::size_t process, double done, double now);

 private:
  const RunSetting& setting_;
  std::vector<int> of_;  ///< by process
  int all_ = 0;
};

}  // namespace paceline::sim
