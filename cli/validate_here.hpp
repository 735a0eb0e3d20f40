// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace paceline::cli {

struct HereOptions {
  std::string folder = "paceline-here";  ///< for samples, profile and what the steps said
  bool busy = false;                     ///< go on although the machine is busy
  bool quick = false;  ///< a tiny model and few repetitions: whether everything works, not how well
  std::string json;
};

/// `validate here`: measures kernels and messages on this machine, fits a profile, predicts and
/// runs the cases of scenarios/here/base.yaml on two processes, and compares. A busy machine is an
/// answer of its own: kAnswerIsNo in one line, unless options.busy. The error itself is no bound.
int validate_here(const HereOptions& options);

}  // namespace paceline::cli
