// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/compression/codec.hpp"
#include "models/cost/collective.hpp"

/// Collectives and messages of encoded tensors, and where a scenario asks for them.
namespace paceline::models {

struct NcclRelease;

/// Links a rule holds for.
enum class CompressedLinks : std::uint8_t {
  All,
  InterNode,  ///< groups and pairs that leave a node
};

/// From one to another, both included.
struct RuleRange {
  std::int64_t first = 0, last = 0;
  bool holds(std::int64_t number) const { return first <= number && number <= last; }
};
inline constexpr std::int64_t kEndless = std::int64_t{1} << 60;  ///< last step of an open phase

/// One entry of `compression`: {group: dp, codec: fp8-e4m3, links: inter-node, ...}.
struct CompressionRule {
  /// dp: gradients; pp: activations and their gradients between stages; tp, cp, ep: what the layers
  /// of these groups exchange, forward and backward.
  std::string group;
  const Codec* codec = nullptr;
  CodecSettings settings;
  CompressedLinks links = CompressedLinks::All;
  /// Layers from 0 (pp: the layer that hands on); nothing: all of them, embedding and head too.
  std::optional<RuleRange> layers;
  std::optional<RuleRange> steps;  ///< of the run, from 1; nothing: all
};
/// `layers`: how many the model has.
std::vector<CompressionRule> read_compression(base::Fields& fields, std::int64_t layers);

inline constexpr std::int64_t kNoLayer = -1;  ///< embedding, head, and where it does not matter

/// Whether what a group exchanges is encoded. The first rule that holds counts; null: none. Phases
/// are not looked at: sim/phases.hpp keeps the rules of one.
const CompressionRule* rule_for(const std::vector<CompressionRule>& rules, std::string_view group,
                                const CollectiveGroup& ranks, std::int64_t layer = kNoLayer);
/// Whether rules of the group tell layers apart.
bool rules_by_layer(const std::vector<CompressionRule>& rules, std::string_view group);

/// What an exchange of an encoded tensor takes. The three parts run one after another; kernels on
/// the compute stream.
struct CompressedTime {
  base::Seconds encode, wire, decode;
  base::Seconds aside;  ///< kernels beside other work, per step
  base::Bytes sent;     ///< by a rank
  base::Bytes state;    ///< kept on every rank
};

/// AllReduce, ReduceScatter, AllGather, AllToAll or SendRecv of `tensor` (the full array, as
/// collective_time counts it), n ranks, w the wire of a whole tensor:
///   codes that add up   the plain collective on w
///   exchanged           all-reduce: all-to-all on w, n parts decoded and their sum encoded, then
///                       all-gather on w; reduce-scatter: its first half
///   gathered            all-reduce: all-gather of n w, all decoded; reduce-scatter: all-to-all on
///   w
/// AllGather, AllToAll and SendRecv: encoded once, w, decoded.
CompressedTime compressed_time(CollectiveOp op, const CompressionRule& rule,
                               const CodecTensor& tensor, const CollectiveGroup& group,
                               const NcclRelease& release, const KernelModel& kernels);

}  // namespace paceline::models
