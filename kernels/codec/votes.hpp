// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/votes.hpp"

/// Calls function<P>(...) with enough planes to count `workers` votes.
#define PACELINE_BY_PLANES(workers, function, ...) \
  if ((workers) < 16) {                            \
    function<4>(__VA_ARGS__);                      \
  } else if ((workers) < 256) {                    \
    function<8>(__VA_ARGS__);                      \
  } else {                                         \
    PACELINE_CHECK((workers) < 1 << 20);           \
    function<20>(__VA_ARGS__);                     \
  }

namespace paceline::kernels {

/// Words counted together on the processor.
constexpr std::int64_t kVoteWords = 128;

/// Calls finish(counts, first, size), counts(i) being the VoteCounts<P> of word first + i, for all
/// words in turn. Counters lie plane by plane, so that the words of a worker are read in a row and
/// the additions are vector instructions.
template <int P, class Finish>
void count_votes(const std::uint32_t* votes, std::int64_t workers, std::int64_t words,
                 const Finish& finish) {
  for (std::int64_t first = 0; first < words; first += kVoteWords) {
    const std::int64_t size = std::min(kVoteWords, words - first);
    std::uint32_t planes[P][kVoteWords] = {};
    for (std::int64_t w = 0; w < workers; ++w) {
      for (std::int64_t i = 0; i < size; ++i) {
        std::uint32_t carry = votes[w * words + first + i];
        for (int p = 0; p < P; ++p) numeric::add_to_plane(planes[p][i], carry);
      }
    }
    const auto counts = [&](std::int64_t i) {
      numeric::VoteCounts<P> result;
      for (int p = 0; p < P; ++p) result.planes[p] = planes[p][i];
      return result;
    };
    finish(counts, first, size);
  }
}

}  // namespace paceline::kernels
