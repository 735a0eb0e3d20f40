// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bundled_text.hpp"

namespace paceline::kernels::train {

using base::bundled_text;

/// Bytes to learn from, one token a byte.
class Text {
 public:
  /// `name` begins messages. base::Error when it is shorter than one sequence and the byte after.
  Text(std::string bytes, const std::string& name, std::int64_t sequence, std::uint64_t seed);

  struct Batch {
    std::vector<std::int32_t> tokens, targets;  ///< [sequences, sequence]; target: the next byte
  };
  /// Sequences first … first + count - 1 of an endless row. Each begins at a random byte that
  /// depends on the seed and its number only, so all layouts learn from the same sequences.
  Batch batch(std::int64_t first, std::int64_t count) const;

 private:
  std::string bytes_;
  std::int64_t sequence_;
  std::uint64_t seed_;
};

}  // namespace paceline::kernels::train
