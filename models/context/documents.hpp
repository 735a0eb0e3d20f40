// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/context/order.hpp"

/// Lengths of documents and how they are packed into windows of a fixed number of tokens.
namespace paceline::models {

enum class DocumentKind : std::uint8_t {
  Fixed,      ///< the given lengths, in their order, over and over
  Drawn,      ///< the given lengths, each drawn at random
  Lognormal,  ///< median exp(sigma z)
  LongTail,   ///< shortest U^(-1 / shape), Pareto
};
enum class Packing : std::uint8_t {
  Sequential,  ///< a document that does not fit opens the next window
  FirstFit,    ///< into the first window of the step that has room
  Split,       ///< cut where the window ends; the rest is a document of its own in the next
  Chunks,      ///< cut where the window ends; the rest sees the keys of what came before it
};

struct Documents {
  DocumentKind kind = DocumentKind::Fixed;
  std::vector<std::int64_t> lengths;  ///< tokens, of Fixed and Drawn
  double median = 0, sigma = 0;       ///< of Lognormal
  double shape = 0;                   ///< of LongTail
  std::int64_t shortest = 1;          ///< shorter ones count as this
  std::int64_t longest = 0;           ///< longer ones count as this
  Packing packing = Packing::Sequential;
  std::uint64_t seed = 1;
  int steps = 1;  ///< sampled

  /// Whether one step differs from another.
  bool varies() const;
};

/// Runs of one window; what is left of it is padding.
using Window = std::vector<Run>;

/// The windows of one step, a function of (documents, step) alone. Documents in a window are
/// numbered from 0. No document is longer than a window unless the packing cuts.
std::vector<Window> sample_windows(const Documents& documents, std::int64_t windows,
                                   std::int64_t tokens, std::uint64_t step);

/// The first documents of one step, unpacked.
std::vector<std::int64_t> sample_lengths(const Documents& documents, std::int64_t count,
                                         std::uint64_t step);

std::int64_t tokens_of(const Window& window);
/// Of the windows' masks together.
std::int64_t twice_area(const Window& window, const Mask& mask);
/// What packed windows see of documents before them: the tokens before each run that does not
/// begin its document.
Window earlier_of(const Window& window);
/// Several windows as one, their documents numbered on.
Window side_by_side(const std::vector<Window>& windows);

}  // namespace paceline::models
