// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/cost/collective.hpp"
#include "sim/task_graph.hpp"

/// One collective message by message: what algorithms really send, where the closed forms of
/// models/cost only know the sum.
namespace paceline::sim {

struct ChunkedCollective {
  models::CollectiveOp op = models::CollectiveOp::AllReduce;
  models::CollectiveAlgorithm algorithm = models::CollectiveAlgorithm::Ring;
  int ranks = 2;
  double bytes = 0;    ///< as models::collective_time counts: the full array
  double latency = 0;  ///< seconds of one message before its first byte moves
  double rate = 0;     ///< bytes/s of one message alone on its hop
  int chunks = 1;      ///< trees, chains and single messages: sent in so many pieces, pipelined
  /// Links that hops share, and the way from one rank to another over them; both empty: hops share
  /// nothing.
  std::vector<NetworkLink> links;
  std::function<std::vector<LinkUse>(int from, int to)> route;
};

/// Most messages of one collective: 6 GB of graph and timeline.
inline constexpr std::int64_t kMaxMessages = std::int64_t{1} << 27;

/// Messages the collective consists of; each is one task, and all are of the same size. Throws
/// base::Error as collective_graph does.
std::int64_t message_count(const ChunkedCollective& collective);

/// The messages as tasks, in an order in which every dependency comes first:
///
/// - all_reduce, all_gather, reduce_scatter by Ring: 2(N-1) or N-1 steps of bytes / N from rank i
///   to i+1; step k of i waits for step k-1 of i and of i-1. Alone it takes
///   steps (latency + bytes / (N rate)).
/// - all_reduce by Tree: two trees in which each rank is a leaf at least once (Sanders, Speck,
///   Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009), half of
///   the bytes each, up and down in `chunks` pieces. Alone, with trees of depth D,
///   (2 D + chunks - 1) (latency + bytes / (2 chunks rate)).
/// - all_to_all, Direct: step k sends bytes / N from i to i+k, one after another.
/// - broadcast by Ring: a chain from rank 0 in `chunks` pieces; send_recv, Direct: rank 0 to 1.
///
/// Each hop of a ring, chain or all_to_all sends on stream Dp of the sender's lane. In trees lane
/// t N + i holds the hops between rank i and its parent in tree t, PpUp and PpDown.
///
/// Ring tasks take 48 bytes each with dependency, start and finish. Throws base::Error for numbers
/// that are no numbers or out of range, for pairs of op and algorithm other than these, and beyond
/// kMaxMessages.
TaskGraph collective_graph(const ChunkedCollective& collective);

}  // namespace paceline::sim
