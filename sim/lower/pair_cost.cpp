// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/pair_cost.hpp"

#include <algorithm>
#include <limits>

namespace paceline::sim {
namespace {

double& part_of(PairCost& cost, Part part) { return cost.parts[static_cast<std::size_t>(part)]; }

/// The pieces of one pass on their way.
struct Chain {
  explicit Chain(const PassCost& pass) {
    // What the host adds to a pass alone says nothing of the pair; its time comes in pair_cost.
    for (const InnerTask& piece : pass.inner) {
      pieces.push_back(&piece);
      left.push_back(piece.part == Part::Host ? 0 : piece.seconds);
    }
    running.assign(pieces.size(), false);
    done.assign(pieces.size(), false);
    for (std::size_t i = 0; i < pieces.size(); ++i) open += left[i] > 0 ? 1 : 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) done[i] = left[i] <= 0;
  }
  bool ready(std::size_t i) const {
    if (done[i] || running[i]) return false;
    return std::all_of(pieces[i]->deps.begin(), pieces[i]->deps.end(),
                       [&](std::uint32_t d) { return settled(d); });
  }
  /// A piece of no length is over when those before it are.
  bool settled(std::uint32_t i) const {
    if (!done[i]) return false;
    if (pieces[i]->seconds > 0 && pieces[i]->part != Part::Host) return true;
    return std::all_of(pieces[i]->deps.begin(), pieces[i]->deps.end(),
                       [&](std::uint32_t d) { return settled(d); });
  }
  std::vector<const InnerTask*> pieces;
  std::vector<double> left;  ///< seconds
  std::vector<bool> running, done;
  std::size_t open = 0;
  std::size_t begin = 0;  ///< all before are done
};

struct Running {
  Chain* chain = nullptr;
  std::size_t piece = 0;
};

class Pair {
 public:
  Pair(Chain& first, Chain& second, double slowdown)
      : first_(first), second_(second), slowdown_(slowdown) {}

  PairCost run() {
    while (first_.open + second_.open > 0) {
      start(second_);
      start(first_);
      step();
      if (first_.open == 0 && cost_.first_end == 0) cost_.first_end = cost_.seconds;
    }
    return cost_;
  }

 private:
  /// Gives free streams to the next pieces of the chain.
  void start(Chain& chain) {
    while (chain.begin < chain.pieces.size() && chain.done[chain.begin]) ++chain.begin;
    // Pieces run about in order: few are ready at once.
    const std::size_t end = std::min(chain.pieces.size(), chain.begin + 8);
    for (std::size_t i = chain.begin; i < end; ++i) {
      Running& slot = streams_[static_cast<std::size_t>(chain.pieces[i]->stream)];
      if (slot.chain != nullptr || !chain.ready(i)) continue;
      slot = {&chain, i};
      chain.running[i] = true;
    }
  }

  /// To the end of the piece that ends first.
  void step() {
    const Running& kernel = streams_[0];
    bool beside = false;
    for (std::size_t s = 1; s < streams_.size(); ++s)
      beside = beside || streams_[s].chain != nullptr;
    const double rate = beside ? 1 / slowdown_ : 1;
    const auto left = [&](std::size_t s) {
      return streams_[s].chain->left[streams_[s].piece] / (s == 0 ? rate : 1);
    };
    double span = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < streams_.size(); ++s)
      if (streams_[s].chain != nullptr) span = std::min(span, left(s));
    PACELINE_CHECK(span < std::numeric_limits<double>::infinity());
    part_of(cost_,
            kernel.chain != nullptr ? kernel.chain->pieces[kernel.piece]->part : waiting()) += span;
    cost_.seconds += span;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      Running& slot = streams_[s];
      if (slot.chain == nullptr) continue;
      const bool over = left(s) <= span * (1 + 1e-12);
      slot.chain->left[slot.piece] -= span * (s == 0 ? rate : 1);
      if (!over) continue;
      slot.chain->done[slot.piece] = true;
      --slot.chain->open;
      slot = {};
    }
  }

  Part waiting() const {
    for (std::size_t s = 1; s < streams_.size(); ++s)
      if (streams_[s].chain != nullptr) return streams_[s].chain->pieces[streams_[s].piece]->part;
    return Part::Bubble;
  }

  Chain &first_, &second_;
  double slowdown_;
  std::array<Running, kStreams> streams_{};
  PairCost cost_;
};

}  // namespace

PairCost pair_cost(const PassCost& first, const PassCost& second, double slowdown) {
  Chain a(first), b(second);
  PairCost cost = Pair(a, b, slowdown).run();
  if (cost.first_end == 0) cost.first_end = cost.seconds;
  const double host = first.host + second.host - cost.seconds;
  if (host <= 0) return cost;
  part_of(cost, Part::Host) += host;
  cost.first_end *= (cost.seconds + host) / cost.seconds;
  cost.seconds += host;
  return cost;
}

}  // namespace paceline::sim
