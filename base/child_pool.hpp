// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace paceline::base {

/// What a child said of its piece of work, or how it failed.
struct ChildAnswer {
  std::size_t index = 0;  ///< which piece
  std::string text;       ///< what `work` returned
  std::string failure;    ///< "" when it ended well: "signal 11 (Segmentation fault)", ...
};

/// Calls `work(index)` for every index below `count`, each in a child process of its own, at most
/// `jobs` (>= 1) at a time, and `done` here with each answer, in the order in which they end. A
/// child that crashes costs its own answer only. SIGINT, SIGTERM and SIGHUP wait while pieces are
/// worked on, so that `done` is never cut short: when one arrives the children are ended and
/// waited for, and the signal acts when this function returns; where it does not end the process,
/// the result is false. base::Error when no process can be started; what `done` throws passes
/// through, and no child is left behind.
bool run_in_children(std::size_t count, int jobs,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(ChildAnswer)>& done);

/// Where pieces come from when others take of them too.
struct PieceSource {
  /// The next piece, or nothing when none is left; called whenever there is room for a child.
  std::function<std::optional<std::size_t>()> next;
  /// Called every few milliseconds while children run; null: never.
  std::function<void()> meanwhile;
};
/// The same with pieces of this source; false also where it had more to give.
bool run_in_children(const PieceSource& source, int jobs,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(ChildAnswer)>& done);

}  // namespace paceline::base
