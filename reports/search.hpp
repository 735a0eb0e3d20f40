// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/scenario.hpp"
#include "reports/text_block.hpp"
#include "sim/search/search.hpp"

/// What `paceline plan` says.
namespace paceline::reports {

inline constexpr std::string_view kSearchSchema = "paceline-plan-1";

/// A layout of the answer, and how to ask for it.
struct PlannedLayout {
  sim::Candidate found;
  std::string words;    ///< "tp 4 + sp, pp 4 x 5, dp 4, zero 1, micro 1, interleaved-1f1b, none"
  std::string command;  ///< `paceline run FILE --set ...`
  std::vector<std::string> set;               ///< the words of that command after --set
  double peak_bytes = 0, capacity_bytes = 0;  ///< of the fullest rank class
};

struct SearchReport {
  std::string version, command;      ///< reproduces the search; no output paths
  std::string scenario, file, hash;  ///< name, path as given, hash of the scenario as it stands
  std::string model, machine;
  sim::Objective objective = sim::Objective::Time;
  sim::SearchLimits limits;
  bool proven = false;
  double gap = 0;
  bool interrupted = false;  ///< by the user; what was left was not looked at
  std::optional<double> least_left;
  sim::SearchCounts counts;
  std::vector<PlannedLayout> best;
  double memory_limit = 0;
  std::vector<PlannedLayout> with_more_memory;  ///< as in sim::SearchAnswer
  std::vector<PlannedLayout> nearest;           ///< one at most
  std::vector<sim::Tried> tried;                ///< likewise
  std::vector<std::string> assumptions;
};

/// "3.52 s", "1.204 USD" or "5.1 MJ".
std::string objective_text(sim::Objective objective, double value);
/// "tp 4 + sp, pp 4 x 5, dp 4, ...".
std::string layout_text(const sim::Layout& layout);

SearchReport make_search_report(const models::Scenario& scenario,
                                const std::vector<std::string>& set,
                                const sim::SearchOptions& options, sim::SearchAnswer answer,
                                std::string command);

/// On one screen: the best layouts, what binds, how to run the best.
std::string search_text(const SearchReport& report, const TextStyle& style);
std::string search_json(const SearchReport& report);

}  // namespace paceline::reports
