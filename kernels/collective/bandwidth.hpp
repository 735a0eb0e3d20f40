// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "base/units.hpp"

/// Sizes and bandwidths of collectives as nccl-tests defines them (doc/PERFORMANCE.md there).
namespace paceline::kernels {

enum class CollectiveKind : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  SendRecv
};
inline constexpr CollectiveKind kCollectiveKinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
    CollectiveKind::AllToAll,  CollectiveKind::Broadcast, CollectiveKind::SendRecv};
std::string_view name_of(CollectiveKind kind);  ///< "all_reduce"
/// base::Error naming those there are.
CollectiveKind collective_named(std::string_view name);

/// busbw over algbw: what every rank must at least move through its link, as a share of the size.
/// 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter and all_to_all; 1 for broadcast
/// and send_recv. n >= 1.
double bus_factor(CollectiveKind kind, int ranks);

struct Bandwidth {
  base::BytesPerSecond algorithm, bus;  ///< algbw, busbw
};
/// algbw = size / time. The size is that of the full array: the array of all_reduce and broadcast,
/// the gathered array of all_gather, the input of reduce_scatter, what one rank holds for all
/// others and itself in all_to_all, the message of send_recv. No time gives no bandwidth (0).
Bandwidth bandwidth(CollectiveKind kind, base::Bytes size, int ranks, base::Seconds time);

}  // namespace paceline::kernels
