// SPDX-License-Identifier: Apache-2.0
// Any bytes as measurements, of whatever kind they look like: what is accepted as samples prints
// and reads back, and calibrate makes a profile of it that reads back, or says in one line why not.
#include <cmath>
#include <cstdint>

#include "calibrate/calibrate.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace paceline;

void check_samples(const std::string& text) {
  const base::SampleFile file = base::parse_samples(text, "s.jsonl");
  PACELINE_CHECK(file.samples.size() == file.lines.size());
  std::string again;
  for (const base::Sample& s : file.samples) {
    PACELINE_CHECK(s.median.value > 0 && s.min.value > 0 && std::isfinite(s.median.value));
    PACELINE_CHECK(!s.extents.empty());
    again += base::sample_line(s);
  }
  const base::SampleFile back = base::parse_samples(again, "again");
  PACELINE_CHECK(back.samples.size() == file.samples.size());
}

void check_calibration(const std::string& text) {
  calibrate::InputOptions in;
  in.busy = true;
  const calibrate::Inputs inputs = calibrate::parse_inputs({{"s.jsonl", text}}, in);
  calibrate::CalibrateOptions options;
  options.name = "here";
  options.device_name = "here-device";
  const calibrate::Calibration result = calibrate::calibrate(inputs, options);
  if (result.own_device)
    models::read_device(
        base::parse_yaml(calibrate::device_yaml(result, "here.json"), "here-device.yaml"),
        "here-device");
  PACELINE_CHECK(!calibration_text(result).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  fuzz::only_clear_errors([&] { check_samples(text); });
  fuzz::only_clear_errors([&] { check_calibration(text); });
  return 0;
}
