// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What each rank does and in which order: no times, no communication.
namespace paceline::sim {

enum class Direction : std::uint8_t {
  Down,
  Up,
  None
};  ///< along the stages: 0..n-1, n-1..0, local

/// One kind of work. F runs down the stages; B, W and BW read what F of the same stage left.
struct Pass {
  std::string name;  ///< letters only, as printed in actions: F, B, W, BW, R, U, N
  Direction direction = Direction::None;
  std::vector<std::uint8_t> reads;  ///< passes of the same stage, slice and microbatch it needs
  std::vector<std::uint8_t> frees;  ///< passes whose stored tensors it releases
  bool operator==(const Pass&) const = default;
};

struct Action {
  std::uint8_t pass = 0;
  bool fused = false;      ///< runs together with the next action of the order: "(2F0&5B1)"
  std::int16_t stage = 0;  ///< global, in model order
  std::int16_t slice = 0;  ///< of the sequence
  std::int32_t microbatch = 0;
  bool operator==(const Action&) const = default;
};

struct Program {
  std::vector<Pass> passes;
  std::vector<std::vector<Action>> order;  ///< [rank][position]
  int stages = 0;
  int microbatches = 0;
  int slices = 1;
  bool operator==(const Program&) const = default;
};

/// "2F0" is F of stage 2, microbatch 0; "2F0.3" its slice 3 (slice 0 is not printed).
std::string to_text(const Action& action, const Program& program);

/// The whole Program: sizes, passes, then one line per rank. parse_program reads it back.
///
///     program stages=2 microbatches=1 slices=1
///     pass F down
///     pass BW up reads F frees F
///     rank 0: 0F0 0BW0
///     rank 1: 1F0 1BW0
std::string to_text(const Program& program);

/// Reads the text form; '#' starts a comment. Checks the grammar and that every number lies inside
/// the sizes of the first line, not whether the order can run (sim/verify.hpp does). Throws
/// base::Error with file:line:column.
Program parse_program(std::string_view text, const std::string& file);

}  // namespace paceline::sim
