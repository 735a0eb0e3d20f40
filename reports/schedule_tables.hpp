// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "models/scenario/schedule_choice.hpp"
#include "models/scenario/set.hpp"
#include "reports/validate.hpp"
#include "sim/stage_times.hpp"

/// Published figures and closed forms of schedules, against the engine: the suites `schedules`.
///
/// ```yaml
/// schedules: zero-bubble                   # the file's name without its extension
/// title: "Bubble rates"
/// source: "who published it, where"
/// notes: ["what has to be known"]          # optional
/// metric: absolute                         # or relative
/// relation: equal                          # or at-most: ours may be smaller
/// unit: hops                               # optional: errors count in ranks * hop / makespan
/// bound: 5.1e-5                            # of the worst error
/// table: zero-bubble.csv                   # beside this file
/// ```
/// Columns of the table: `schedule` as in a scenario (`zb-h1`, or `{name: gis, chunks: 2}`);
/// `ranks`, `microbatches`; `forward`, `input_gradient`, `weight_gradient`: of one microbatch on a
/// rank, which its chunks share evenly, or a list with a blank between, of every stage; `hop`;
/// `quantity`: makespan, longest_stage, bubble_rate, longest_stage_bubble_rate or peak_activations
/// (microbatches on all layers of a rank); `listed`; `note`, for people. Where a schedule is
/// searched under a memory limit also `activation`, what a microbatch stores on a stage, and
/// `freed_by_input`, what B frees of it. Any units serve as long as a row keeps to them.
namespace paceline::reports {

struct ScheduleRow {
  std::string id;     ///< "zb-h1 p8 m24"
  std::string where;  ///< "file:line:column" of its schedule
  models::ScheduleChoice schedule;
  int ranks = 1, microbatches = 1;
  sim::StageTimes times;
  std::string quantity;
  double listed = 0;
  std::string note;
};

struct ScheduleTable {
  std::string name, title, source;
  std::vector<std::string> notes;
  models::ErrorMetric metric = models::ErrorMetric::Absolute;
  bool at_most = false;
  bool in_hops = false;
  double bound = 0;
  std::vector<ScheduleRow> rows;
};

/// base::Error with file:line:column for an unknown key, column or quantity, or a value that is no
/// number.
ScheduleTable read_schedule_table(const std::string& path);
/// The tables that come with Paceline, in alphabetical order.
std::vector<std::string> schedule_table_files();

/// One suite per quantity of the table. A schedule that refuses the row's shape is a row without an
/// answer, and the suite has not passed.
std::vector<Suite> validate_schedules(const ScheduleTable& table);

/// Every row: schedule, shape, quantity, listed, ours, error; a heading with the source per suite.
std::string schedule_rows(const std::vector<Suite>& suites);

}  // namespace paceline::reports
