// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/collective/communicator.hpp"
#include "reports/sweep.hpp"

/// A sweep that mpirun or srun started in several processes: rank 0 hands out pieces of it to all,
/// itself included, and gets the rows.
namespace paceline::cli {

/// Processes that this rank has at a time by default: the cores it may use over the ranks of this
/// machine that may use the same ones. Collective.
int cores_of_rank(const kernels::Communicator& ranks);

/// What rank 0 has, on all ranks. Collective.
std::vector<std::size_t> from_first_rank(const kernels::Communicator& ranks,
                                         std::vector<std::size_t> values);

/// Calls `prepare` on every rank. Where it throws base::Error on one of them, the lowest such rank
/// throws it on, and false is the answer of the others. Collective.
bool prepared_everywhere(const kernels::Communicator& ranks, const std::function<void()>& prepare);

/// The pieces of one sweep and its rows on their way. Messages: a rank asks rank 0 with the rows it
/// has made so far and is told a piece, or that none is left; when its last rows are made it sends
/// those.
class SharedSweep {
 public:
  /// `take`: on rank 0, for the lines of rows of other ranks.
  SharedSweep(const kernels::Communicator& ranks, std::function<void(std::string)> take);
  ~SharedSweep();
  SharedSweep(const SharedSweep&) = delete;
  SharedSweep& operator=(const SharedSweep&) = delete;

  base::PieceSource source(std::size_t pieces);
  /// On other ranks than 0: a row for rank 0.
  void give(std::string line);
  /// When all rows of this rank are made. On rank 0 until those of all have come.
  void finish();

 private:
  struct Part;
  std::unique_ptr<Part> part_;
};

}  // namespace paceline::cli
