// SPDX-License-Identifier: Apache-2.0
#include "reports/html/library.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "reports/html/report.hpp"

namespace paceline::reports {

namespace {

constexpr const char* kPlaces[] = {"/usr/share/javascript/chart.js/chart.min.js",
                                   "/usr/share/nodejs/chart.js/dist/chart.min.js"};
constexpr const char* kNeeds =
    "--report draws its charts with Chart.js 3 or 4, which is not here; install libjs-chart.js, or "
    "name its chart.min.js in PACELINE_CHART_JS";

bool is_plain_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

std::string chart_library_path() {
  if (const char* named = std::getenv("PACELINE_CHART_JS"))
    return is_plain_file(named) ? named : "";
  for (const char* place : kPlaces) {
    if (is_plain_file(place)) return place;
  }
  return "";
}

std::string chart_library() {
  const std::string path = chart_library_path();
  if (path.empty()) throw base::MissingError(kNeeds);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string_view head = std::string_view(text).substr(0, 400);
  const bool known = head.find("Chart.js v3.") != std::string_view::npos ||
                     head.find("Chart.js v4.") != std::string_view::npos;
  if (!file || !known) throw base::MissingError("'" + path + "' is no Chart.js 3 or 4: " + kNeeds);
  return text;
}

void require_report_library() { chart_library(); }

}  // namespace paceline::reports
