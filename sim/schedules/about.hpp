// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

/// What schedules.def has no room for: a schedule in words.
namespace paceline::sim {

/// p ranks with v chunks each run m microbatches; F, B, W and BW are what a rank takes for its
/// share of one microbatch. Activations are counted in microbatches on all layers of a rank.
struct About {
  std::string_view name;       ///< of the schedule
  std::string_view placement;  ///< which stages stand on which rank
  std::string_view order;      ///< what a rank does
  std::string_view bubble;     ///< idle time of a rank with equal stages and free messages
  std::string_view peak;       ///< stored activations
  std::string_view paper;      ///< who described it
};

/// Null when nobody has described the schedule in about.def.
const About* about(std::string_view name);

}  // namespace paceline::sim
