// SPDX-License-Identifier: Apache-2.0
#include "models/context/documents.hpp"

#include <algorithm>
#include <cmath>

#include "base/distributions.hpp"
#include "base/rng.hpp"

namespace paceline::models {
namespace {

/// Draws one document after another.
class Source {
 public:
  Source(const Documents& documents, std::uint64_t step)
      : d_(documents), rng_(base::Rng(base::Rng(documents.seed).next() + step).next()) {
    if (d_.kind == DocumentKind::Fixed) next_ = 0;
  }
  std::int64_t next() {
    switch (d_.kind) {
      case DocumentKind::Fixed:
        return d_.lengths[next_++ % d_.lengths.size()];
      case DocumentKind::Drawn:
        return d_.lengths[rng_.below(d_.lengths.size())];
      case DocumentKind::Lognormal:
        return clamped(d_.median * base::same_exp(d_.sigma * base::standard_normal(rng_)));
      case DocumentKind::LongTail:
        return clamped(static_cast<double>(d_.shortest) * base::pareto(rng_, d_.shape));
    }
    return 1;
  }

 private:
  std::int64_t clamped(double length) const {
    const auto longest = static_cast<double>(d_.longest);
    return std::clamp(std::llround(std::min(length, longest)), static_cast<long long>(d_.shortest),
                      static_cast<long long>(d_.longest));
  }
  const Documents& d_;
  base::Rng rng_;
  std::size_t next_ = 0;
};

void append(Window& window, std::int64_t begin, std::int64_t end) {
  window.push_back({static_cast<int>(window.size()), begin, end});
}

std::vector<Window> sequential(Source& source, std::int64_t windows, std::int64_t tokens) {
  std::vector<Window> filled(static_cast<std::size_t>(windows));
  std::int64_t left = tokens;
  for (std::size_t w = 0; w < filled.size();) {
    const std::int64_t length = source.next();
    while (w < filled.size() && length > left) {
      ++w;
      left = tokens;
    }
    if (w == filled.size()) break;
    append(filled[w], 0, length);
    left -= length;
  }
  return filled;
}

/// Ends with the first document that fits nowhere.
std::vector<Window> first_fit(Source& source, std::int64_t windows, std::int64_t tokens) {
  std::vector<Window> filled(static_cast<std::size_t>(windows));
  std::vector<std::int64_t> room(filled.size(), tokens);
  auto open = room.begin();  // what lies before is full
  for (;;) {
    const std::int64_t length = source.next();
    while (open != room.end() && *open == 0) ++open;
    const auto found =
        std::find_if(open, room.end(), [&](std::int64_t left) { return left >= length; });
    if (found == room.end()) return filled;
    append(filled[static_cast<std::size_t>(found - room.begin())], 0, length);
    *found -= length;
  }
}

std::vector<Window> cut_at_ends(Source& source, std::int64_t windows, std::int64_t tokens,
                                bool sees_before) {
  std::vector<Window> filled(static_cast<std::size_t>(windows));
  std::int64_t length = 0, done = 0;
  for (Window& window : filled) {
    for (std::int64_t left = tokens; left > 0;) {
      if (done == length) {
        length = source.next();
        done = 0;
      }
      const std::int64_t taken = std::min(left, length - done);
      const std::int64_t begin = sees_before ? done : 0;
      append(window, begin, begin + taken);
      done += taken;
      left -= taken;
    }
  }
  return filled;
}

}  // namespace

bool Documents::varies() const { return kind != DocumentKind::Fixed; }

std::vector<Window> sample_windows(const Documents& documents, std::int64_t windows,
                                   std::int64_t tokens, std::uint64_t step) {
  Source source(documents, step);
  switch (documents.packing) {
    case Packing::Sequential:
      return sequential(source, windows, tokens);
    case Packing::FirstFit:
      return first_fit(source, windows, tokens);
    case Packing::Split:
      return cut_at_ends(source, windows, tokens, false);
    case Packing::Chunks:
      return cut_at_ends(source, windows, tokens, true);
  }
  return {};
}

std::vector<std::int64_t> sample_lengths(const Documents& documents, std::int64_t count,
                                         std::uint64_t step) {
  Source source(documents, step);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count));
  for (std::int64_t& length : lengths) length = source.next();
  return lengths;
}

std::int64_t tokens_of(const Window& window) {
  std::int64_t sum = 0;
  for (const Run& run : window) sum += run.tokens();
  return sum;
}

std::int64_t twice_area(const Window& window, const Mask& mask) {
  std::int64_t sum = 0;
  for (const Run& run : window)
    sum += twice_area(Piece{run.document, run.begin, run.tokens(), 1}, mask, run.end);
  return sum;
}

Window earlier_of(const Window& window) {
  Window earlier;
  for (const Run& run : window)
    if (run.begin > 0) earlier.push_back({run.document, 0, run.begin});
  return earlier;
}

Window side_by_side(const std::vector<Window>& windows) {
  Window all;
  for (const Window& window : windows) {
    const auto shift = static_cast<int>(all.size());
    for (Run run : window) {
      run.document += shift;
      all.push_back(run);
    }
  }
  return all;
}

}  // namespace paceline::models
