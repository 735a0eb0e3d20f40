// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/inputs.hpp"
#include "calibrate/report.hpp"
#include "models/hardware/device.hpp"
#include "models/hardware/profile.hpp"

/// Measurements in, a profile out.
namespace paceline::calibrate {

struct CalibrateOptions {
  std::string name;  ///< of the profile
  /// Data sheet of the device that was measured; nothing: the best measured rates stand for it.
  std::optional<models::Device> device;
  std::string device_name;              ///< where there is no data sheet: what to call the device
  std::optional<models::Profile> base;  ///< what was not measured stays as there
  std::vector<std::string> without;     ///< curves that are not fitted, by the names of the report
};

struct Calibration {
  models::Profile profile;
  models::Device device;    ///< the data sheet, or what stands for it
  bool own_device = false;  ///< the latter
  base::Machine machine;    ///< what was measured
  std::vector<CurveReport> reports;
  std::vector<std::string> notes;
  std::string profile_text;  ///< the document, which reads back
  /// Every curve predicts its own samples within its bound.
  bool accepted() const;
};

/// base::Error when there are no samples of matrix products and no base profile to have them from,
/// or when what was measured cannot be of the device.
Calibration calibrate(const Inputs& inputs, const CalibrateOptions& options);

/// The device whose spec names what the driver calls it ("NVIDIA H200"); base::Error with what to
/// say where none or several do.
models::Device device_of(const base::Machine& machine);

/// The spec file of a device without a data sheet (models/specs/README.md), which names `profile`.
std::string device_yaml(const Calibration& calibration, const std::string& profile_file);

/// The report as people read it, and as JSON (`command` as normalised).
std::string calibration_text(const Calibration& calibration);
std::string calibration_json(const Calibration& calibration, const std::string& command);

}  // namespace paceline::calibrate
