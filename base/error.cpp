// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace paceline::base {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace paceline::base
