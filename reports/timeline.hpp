// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "reports/answer.hpp"
#include "sim/predict.hpp"

namespace paceline::reports {

/// Rows of the picture at most; of more rank classes an even selection with both ends is drawn.
inline constexpr std::size_t kPictureRows = 16;

/// The step as an SVG picture: a row per rank class with its compute stream, and below it two thin
/// strips, messages between stages and collectives. Idle time shows as the grey ground.
std::string timeline_svg(const Answer& answer, const sim::Prediction& prediction,
                         double width = 1200);

}  // namespace paceline::reports
