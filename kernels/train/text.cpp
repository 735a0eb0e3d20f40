// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/text.hpp"

#include "base/error.hpp"
#include "base/rng.hpp"

namespace paceline::kernels::train {

Text::Text(std::string bytes, const std::string& name, std::int64_t sequence, std::uint64_t seed)
    : bytes_(std::move(bytes)), sequence_(sequence), seed_(seed) {
  if (std::ssize(bytes_) > sequence) return;
  throw base::Error(name,
                    "has " + std::to_string(bytes_.size()) + " bytes, a sequence and the byte " +
                        "after it are " + std::to_string(sequence + 1),
                    "a longer text, or a smaller batch.sequence");
}

Text::Batch Text::batch(std::int64_t first, std::int64_t count) const {
  Batch batch;
  const auto starts = static_cast<std::uint64_t>(std::ssize(bytes_) - sequence_);
  for (std::int64_t number = first; number < first + count; ++number) {
    base::Rng rng(base::Rng(seed_).next() + static_cast<std::uint64_t>(number));
    const auto start = static_cast<std::size_t>(rng.below(starts));
    for (std::size_t i = start; i < start + static_cast<std::size_t>(sequence_); ++i) {
      batch.tokens.push_back(static_cast<unsigned char>(bytes_[i]));
      batch.targets.push_back(static_cast<unsigned char>(bytes_[i + 1]));
    }
  }
  return batch;
}

}  // namespace paceline::kernels::train
