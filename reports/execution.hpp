// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "reports/answer.hpp"
#include "reports/text_block.hpp"

/// A prediction beside what the machine did with the same graph.
namespace paceline::reports {

inline constexpr std::string_view kExecutionSchema = "paceline-execution-1";

/// All tasks of one kind of work.
struct WorkRow {
  std::string name;       ///< "FC1", "all_reduce dp", "send activations"
  std::string_view what;  ///< "kernel", "collective", "message", "optimizer", "other"
  std::size_t count = 0;
  double predicted = 0, measured = 0;  ///< seconds of all of them
  double error() const { return predicted / measured - 1; }
};

struct Execution {
  Answer predicted, measured;
  std::string backend, device;
  int ranks = 1;
  std::vector<double> step_seconds;  ///< measured steps, in order
  std::vector<WorkRow> work;         ///< most measured seconds first
  std::vector<std::string> notes;    ///< substitutes, a busy machine
  double step_error() const { return predicted.result.step_time / measured.result.step_time - 1; }
};

/// Time spent in each kind of work by both timelines of the graph; what takes none in either is
/// left out. Measured messages and collectives count from when all who take part are there: waiting
/// for each other is not their time. A message is noticed between two kernels of its receiver.
std::vector<WorkRow> work_rows(const sim::TaskGraph& graph, const sim::Timeline& predicted,
                               const sim::Timeline& measured);

std::string execution_text(const Execution& execution, const TextStyle& style);
/// `predicted` and `measured` are result files; see docs/formats.md.
std::string execution_json(const Execution& execution);

/// One prediction with the lanes of both, for a trace that shows one timeline above the other.
sim::Prediction side_by_side(const sim::Prediction& predicted, const sim::Timeline& measured);

}  // namespace paceline::reports
