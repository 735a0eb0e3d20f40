// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace paceline::sim {

/// What a job does at a time of its run. Slow: work at less than its pace.
enum class Doing : std::uint8_t { Work, Checkpoint, Lost, Detect, Restart, Wait, Slow };
inline constexpr int kDoings = 7;
std::string_view to_text(Doing doing);

struct RunSpan {
  Doing doing = Doing::Work;
  double begin = 0, end = 0;  ///< s
  int cause = -1;             ///< index of the kind of failure; -1: none
  double pace = 1;            ///< of Work and Slow: work a second; 0 otherwise
};

}  // namespace paceline::sim
