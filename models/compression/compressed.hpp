// SPDX-License-Identifier: Apache-2.0
#pragma once
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

/// One entry of `compression`: {group: dp, codec: fp8-e4m3, links: inter-node, ...}.
struct CompressionRule {
  std::string group;  ///< dp: gradients; pp: activations and their gradients between stages
  const Codec* codec = nullptr;
  CodecSettings settings;
  CompressedLinks links = CompressedLinks::All;
};
std::vector<CompressionRule> read_compression(base::Fields& fields);

/// Whether a group's traffic is encoded. The first rule that holds counts; null: none.
const CompressionRule* rule_for(const std::vector<CompressionRule>& rules, std::string_view group,
                                const CollectiveGroup& ranks);

/// What an exchange of an encoded tensor takes. The three parts run one after another; kernels on
/// the compute stream.
struct CompressedTime {
  base::Seconds encode, wire, decode;
  base::Seconds aside;  ///< kernels beside other work, per step
  base::Bytes sent;     ///< by a rank
  base::Bytes state;    ///< kept on every rank
};

/// AllReduce, ReduceScatter, AllGather or SendRecv of `tensor` (the full array, as collective_time
/// counts it), n ranks, w the wire of a whole tensor:
///   codes that add up   the plain collective on w
///   exchanged           all-reduce: all-to-all on w, n parts decoded and their sum encoded, then
///                       all-gather on w; reduce-scatter: its first half
///   gathered            all-reduce: all-gather of n w, all decoded; reduce-scatter: all-to-all on
///   w
/// AllGather and SendRecv: encoded once, w, decoded.
CompressedTime compressed_time(CollectiveOp op, const CompressionRule& rule,
                               const CodecTensor& tensor, const CollectiveGroup& group,
                               const NcclRelease& release, const KernelModel& kernels);

}  // namespace paceline::models
