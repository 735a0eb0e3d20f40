// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace paceline::cli {

/// The whole program: parses arguments, runs one subcommand, turns errors into exit codes
/// (0 done, 1 the answer is "no", 2 bad input, 3 something needed is missing).
int run(int argc, char** argv);

}  // namespace paceline::cli
