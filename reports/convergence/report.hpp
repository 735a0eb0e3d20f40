// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "reports/text_block.hpp"
#include "sim/convergence/run_study.hpp"

/// What a convergence study has shown: text, JSON, a picture.
namespace paceline::reports {

struct ConvergenceReport {
  std::string version;  ///< of Paceline
  std::string command;  ///< reproduces it
  std::string file;     ///< as given
  sim::convergence::Study study;
  sim::convergence::StudyResult result;
};

/// A row per combination and figure, medians and ranges over seeds, then what was expected.
std::string convergence_text(const ConvergenceReport& report);
/// Everything, curves included (docs/formats.md).
std::string convergence_json(const ConvergenceReport& report);
/// Loss over steps, and over simulated seconds where the study has a clock: medians as lines, the
/// range over seeds as a band, a panel per objective.
std::string convergence_svg(const ConvergenceReport& report);

/// Whether everything that was expected has shown.
bool all_hold(const ConvergenceReport& report);

}  // namespace paceline::reports
