// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace paceline::reports {

/// Where the chart library lies: the file PACELINE_CHART_JS names, else that of the Debian package.
/// "" where there is none.
std::string chart_library_path();
/// Its text, with the licence line it begins with. base::MissingError where there is none, or it is
/// no Chart.js of a version the page is written for.
std::string chart_library();

}  // namespace paceline::reports
