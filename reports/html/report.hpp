// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "reports/answer.hpp"
#include "reports/search.hpp"
#include "reports/sweep.hpp"

/// Reports as one HTML file that needs no network: our page of reports/html/page, a chart library
/// of the system, and the data as JSON.
namespace paceline::reports {

inline constexpr std::string_view kReportSchema = "paceline-report-1";

/// What a report draws of one prediction beside its result: spans by lane and stream, memory and
/// power over time, traffic between ranks, kernels against the roofs of the device. Compact JSON;
/// of steps too large to draw the rank classes that matter most, and says so.
std::string report_view(const models::Scenario& scenario, const sim::Prediction& prediction);

/// One run and its report; `view` is empty where only the result is known.
struct ReportRun {
  const Answer* answer = nullptr;
  std::string view;
};

/// base::MissingError, which says what to install, where the chart library is not on this system.
/// Called before long work starts.
void require_report_library();

std::string run_report(const ReportRun& run);
/// `command` reproduces the comparison; the first run is the reference.
std::string comparison_report(std::span<const ReportRun> runs, std::string_view command);
std::string sweep_report(const SweepReport& sweep);
/// `best`: what `run` says of the best layout; none where it is not known.
std::string plan_report(const SearchReport& search, std::span<const ReportRun> best);

}  // namespace paceline::reports
