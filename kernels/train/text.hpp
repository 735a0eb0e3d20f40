// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::kernels::train {

/// A few kilobytes in the public domain: Abraham Lincoln's Gettysburg Address (1863) and Second
/// Inaugural Address (1865), and William Shakespeare's sonnets 18, 29, 116 and 130 (1609).
std::string_view bundled_text();

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
