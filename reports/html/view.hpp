// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

/// The parts of a report's view, each a key of its JSON object.
namespace paceline::reports {

/// What of a timeline is one step.
struct StepWindow {
  double from = 0, to = 0;  ///< seconds
  double steps = 1;         ///< between them
  double piece = 1;         ///< steps of work in the whole timeline
};
StepWindow step_window(const models::Scenario& scenario, const sim::Prediction& prediction);

/// Rank classes with a timeline and a memory curve of their own: all, or of many the critical one,
/// the fullest and some evenly spaced.
std::vector<std::size_t> shown_lanes(const sim::Prediction& prediction);

/// The same value with so many significant digits: short to write.
double rounded(double value, int digits = 4);
/// The power of ten of which `largest` has between 10^digits and 10^(digits+1).
double unit_for(double largest, int digits);

/// Key `spans`: who the lanes are, and of those shown every span by stream. Times are whole numbers
/// of `unit_s`; a span starts `gap` after the one before ends.
void write_spans(base::JsonWriter& json, const sim::Prediction& prediction,
                 const StepWindow& window, const std::vector<std::size_t>& lanes);
/// Key `memory`: by lane shown the fullest moment of each of equal bins, by part.
void write_memory_curves(base::JsonWriter& json, const sim::Prediction& prediction,
                         const std::vector<std::size_t>& lanes);
/// Key `power`: watts of all devices by class and of their hosts; only where energy is known.
void write_power_curve(base::JsonWriter& json, const models::Scenario& scenario,
                       const sim::Prediction& prediction, const StepWindow& window);
/// Key `traffic`: bytes from one rank class to another in a step, and inside one.
void write_traffic_matrix(base::JsonWriter& json, const sim::Prediction& prediction,
                          const StepWindow& window);
/// Key `roofline`: operations, bytes and seconds of the kernels of a layer and the head, and the
/// device's roofs; not of models made of modules.
void write_roofline(base::JsonWriter& json, const models::Scenario& scenario,
                    const sim::Prediction& prediction);

}  // namespace paceline::reports
