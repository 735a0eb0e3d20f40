// SPDX-License-Identifier: Apache-2.0
// Any bytes as the output of nccl-tests: what is accepted has ranks, finite times and a curve.
#include <cmath>
#include <cstdint>

#include "models/cost/curve.hpp"
#include "models/cost/nccl_log.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace paceline;

void check_log(const models::NcclLog& log) {
  PACELINE_CHECK(log.ranks >= 2 && log.ranks <= models::kMaxLogRanks);
  PACELINE_CHECK(log.nodes >= 0 && (log.nodes == 0 || log.ranks % log.nodes == 0));
  PACELINE_CHECK(!log.rows.empty());
  std::vector<models::CurvePoint> points;
  for (const models::NcclLogRow& row : log.rows) {
    PACELINE_CHECK(row.size.value > 0 && std::isfinite(row.size.value));
    PACELINE_CHECK(row.out_of_place.value > 0 && std::isfinite(row.out_of_place.value));
    PACELINE_CHECK(row.in_place.value >= 0 && std::isfinite(row.in_place.value));
    PACELINE_CHECK(row.wrong <= 0);
    points.push_back({row.size.value, row.out_of_place.value});
  }
  const models::MonotoneCurve curve{points};
  PACELINE_CHECK(curve.at(curve.low()) <= curve.at(curve.high()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  fuzz::only_clear_errors([&] { check_log(models::parse_nccl_log(text, "log.txt")); });
  return 0;
}
