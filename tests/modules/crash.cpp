// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

/// Stands in for the SimGrid module and crashes: PACELINE_MODULES points to its folder.
extern "C" void paceline_simgrid_run() { std::abort(); }
