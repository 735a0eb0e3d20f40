// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "base/rng.hpp"
#include "sim/outer/failures.hpp"

/// What a sampled run keeps account of. Used by sample_run.cpp only.
namespace paceline::sim {

inline constexpr double kNever = 1e300;

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

}  // namespace paceline::sim
