// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "models/cost/collective.hpp"
#include "models/cost/curve.hpp"

namespace paceline::models {

/// Times of one collective on one number of ranks inside a domain, by size.
struct CollectiveCurve {
  CollectiveOp op = CollectiveOp::AllReduce;
  int ranks = 2;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  std::string source;
  bool derived = false;            ///< carried over from another collective or number of ranks
  std::vector<CurvePoint> points;  ///< bytes, seconds, as measured
  MonotoneCurve curve;
  base::Bytes low, high;  ///< range of the points
};

/// Measured all-reduce, all-gather and reduce-scatter times of a link
/// (models/specs/collective/NAME.yaml), completed to every number of ranks they can speak for.
struct CollectiveTable {
  static constexpr int kMaxRanks = 72;
  std::string name;
  std::string link;  ///< name of the link it was read for
  int devices = 0;   ///< wired together in the domain it was measured on; 0: does not matter
  std::vector<CollectiveCurve> curves;
  /// Position in `curves` plus one by operation and ranks; 0: none.
  std::array<std::array<std::uint8_t, kMaxRanks + 1>, kCollectiveOps> index{};

  const CollectiveCurve* find(CollectiveOp op, int ranks) const;
};

/// The measured curves of a table file, in file order, without derived ones. Throws base::Error.
CollectiveTable parse_collective_table(const base::Document& document);

/// The table of the spec that lists `link.name`, completed for `generation`; empty when no spec
/// does, so that the white box stands alone.
CollectiveTable read_collective_table(const Link& link, std::string_view generation);

/// Adds curves for collectives and rank counts that were not measured: the white box times the
/// ratio of the nearest measured curve to its own white box at equal bytes per rank. Ring and NVLS
/// curves never stand in for each other, and a curve speaks for up to twice or half its ranks.
void complete_table(CollectiveTable& table, const Link& link, std::string_view generation);

/// Adds a curve that `find` then finds.
void add_curve(CollectiveTable& table, CollectiveCurve curve);

/// The algorithm a measured curve stands for when nothing names it: what the white box runs on
/// large arrays of the group.
CollectiveAlgorithm usual_algorithm(CollectiveOp op, const CollectiveGroup& group,
                                    const NcclRelease& release);

/// The measured curve that speaks best for a collective on `ranks`: the same collective first, then
/// the nearest number of ranks. Null when none of the same algorithm has at least half and at most
/// twice the ranks.
const CollectiveCurve* nearest_curve(std::span<const CollectiveCurve> curves, CollectiveOp op,
                                     int ranks, CollectiveAlgorithm algorithm);

/// A curve of another collective or number of ranks: the white box of `here` times the ratio of
/// `from`, measured on `there`, to its own white box at equal bytes per rank.
CollectiveCurve carry_over(const CollectiveCurve& from, const CollectiveGroup& there,
                           CollectiveOp op, const CollectiveGroup& here,
                           const NcclRelease& release);

/// A curve through measured points of one collective on one group.
CollectiveCurve make_curve(CollectiveOp op, int ranks, CollectiveAlgorithm algorithm,
                           std::string source, std::vector<CurvePoint> points);

/// Time from the curve; beyond its points the white box scaled to meet the end point.
CollectiveChoice table_time(const CollectiveCurve& curve, base::Bytes size,
                            const CollectiveGroup& group, const NcclRelease& release);

}  // namespace paceline::models
