// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/system.hpp"

/// Published systems against predictions: the suite `systems`.
namespace paceline::reports {

/// From best to worst. Reproduced: within the check's tolerance (5 %) of the published figure, or
/// the inequality holds. Within: inside its band (20 %). Off: neither.
enum class SystemStatus { Reproduced, Within, Off, NotExpressible };
std::string_view to_text(SystemStatus status);  ///< "not expressible"

struct CheckResult {
  double predicted = 0;         ///< the expression, or for gain and saving what it gains or saves
  std::optional<double> error;  ///< predicted/claimed - 1; absent for inequalities
  SystemStatus status = SystemStatus::Off;
};

struct RunResult {
  double step_time = 0;  ///< seconds; 0 of a jobs file
  bool fits = true;      ///< every rank's memory
  int instances = 0;     ///< of a jobs file; 0: a scenario
};

struct SystemCase {
  models::System system;
  std::vector<RunResult> runs;                         ///< as System::runs
  std::vector<CheckResult> checks;                     ///< as System::checks
  SystemStatus status = SystemStatus::NotExpressible;  ///< the worst of the checks
  std::string why;  ///< the system's own sentence, or what is missing
};

/// The verdict on one expression value.
CheckResult judge(const models::SystemCheck& check, double value);

/// Runs the scenarios of a system and judges its checks. base::Error of a scenario that does not
/// read or cannot be planned passes through.
SystemCase validate_system(models::System system);

/// One line a check, one a system that is not expressed, and the number of systems by status.
std::string systems_table(const std::vector<SystemCase>& cases);
/// The document of `validate systems --json`. `command` is the normalised command line.
std::string systems_json(const std::vector<SystemCase>& cases, const std::string& command);

}  // namespace paceline::reports
