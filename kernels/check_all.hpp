// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "kernels/measure.hpp"

namespace paceline::kernels {

struct CheckSummary {
  std::size_t cases = 0, failed = 0;
  std::string text;  ///< a line for each wrong or refused one, then how many were checked
};

/// Every chosen operation that the backend has, on all its test shapes, against its
/// reference (check.hpp); `about` is told the label of each before. base::Error for a kernel or
/// type there is none of, or when none of the choice runs on the backend.
CheckSummary check_all(const Backend& backend, const BenchChoice& choice,
                       const std::function<void(const std::string&)>& about);

}  // namespace paceline::kernels
