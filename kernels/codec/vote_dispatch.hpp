// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/error.hpp"

/// Calls function<P>(...) with enough planes to count `workers` votes.
#define PACELINE_BY_PLANES(workers, function, ...) \
  if ((workers) < 16) {                            \
    function<4>(__VA_ARGS__);                      \
  } else if ((workers) < 256) {                    \
    function<8>(__VA_ARGS__);                      \
  } else {                                         \
    PACELINE_CHECK((workers) < 1 << 20);           \
    function<20>(__VA_ARGS__);                     \
  }
