// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/collective_graph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace paceline::sim {
namespace {

using models::CollectiveAlgorithm;
using models::CollectiveOp;

enum class Pattern { Ring, Tree, AllToAll, Chain };

[[noreturn]] void fail(const std::string& problem, const std::string& hint) {
  throw base::Error("chunked collective", problem, hint);
}

Pattern pattern_of(const ChunkedCollective& c) {
  const bool ring = c.algorithm == CollectiveAlgorithm::Ring;
  const bool direct = c.algorithm == CollectiveAlgorithm::Direct;
  switch (c.op) {
    case CollectiveOp::AllReduce:
      if (c.algorithm == CollectiveAlgorithm::Tree) return Pattern::Tree;
      if (ring) return Pattern::Ring;
      break;
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
      if (ring) return Pattern::Ring;
      break;
    case CollectiveOp::AllToAll:
      if (direct) return Pattern::AllToAll;
      break;
    case CollectiveOp::Broadcast:
    case CollectiveOp::Reduce:  // the same chain, towards the root
      if (ring) return Pattern::Chain;
      break;
    case CollectiveOp::SendRecv:
      if (direct) return Pattern::Chain;
      break;
  }
  fail(std::string(models::to_text(c.op)) + " by " + std::string(models::to_text(c.algorithm)) +
           " has no message form",
       "all_reduce: Ring, Tree; all_gather, reduce_scatter, broadcast, reduce: Ring; all_to_all, "
       "send_recv: Direct");
}

void inspect_input(const ChunkedCollective& c) {
  const auto amount = [](double value) { return value >= 0 && std::isfinite(value); };
  if (c.ranks < 1 || (c.op == CollectiveOp::SendRecv && c.ranks > 2)) {
    fail("has " + std::to_string(c.ranks) + " ranks", "1 or more, for send_recv at most 2");
  }
  if (c.chunks < 1) fail("has " + std::to_string(c.chunks) + " chunks", "1 or more");
  if (!amount(c.bytes)) fail("moves " + std::to_string(c.bytes) + " bytes", "0 or more");
  if (!amount(c.latency)) fail("has a latency of " + std::to_string(c.latency) + " s", "0 or more");
  if (!(amount(c.rate) && c.rate > 0)) {
    fail("has a rate of " + std::to_string(c.rate) + " B/s", "more than 0");
  }
}

std::int64_t ring_steps(const ChunkedCollective& c) {
  return (c.op == CollectiveOp::AllReduce ? 2 : 1) * (std::int64_t{c.ranks} - 1);
}

/// Bytes of one message.
double message_bytes(const ChunkedCollective& c, Pattern pattern) {
  switch (pattern) {
    case Pattern::Ring:
    case Pattern::AllToAll:
      return c.bytes / c.ranks;
    case Pattern::Tree:
      return c.bytes / 2 / c.chunks;
    case Pattern::Chain:
      return c.bytes / c.chunks;
  }
  return 0;
}

/// Adds messages to the graph; those of one hop share a transfer.
class Messages {
 public:
  Messages(const ChunkedCollective& c, Pattern pattern, TaskGraph& graph)
      : collective_(c), graph_(graph), bytes_(message_bytes(c, pattern)) {
    task_.seconds = c.latency + bytes_ / c.rate;
    task_.kind = TaskKind::Message;
    task_.stream = Stream::Dp;
    Segment segment;
    segment.name = std::string(models::to_text(c.op)) + " message";
    segment.seconds = task_.seconds;
    segment.parts[static_cast<std::size_t>(Part::ExposedDp)] = task_.seconds;
    segment.bytes[static_cast<std::size_t>(Stream::Dp)] = bytes_;
    graph_.segments.push_back(segment);
    if (c.route) graph_.network.links = c.links;
  }

  /// For add(); kNoTransfer where hops share nothing.
  std::uint32_t hop(int from, int to) {
    if (!collective_.route) return kNoTransfer;
    graph_.network.transfers.push_back(
        {collective_.latency, bytes_, collective_.rate, collective_.route(from, to)});
    return static_cast<std::uint32_t>(graph_.network.transfers.size() - 1);
  }

  TaskId add(int lane, Stream stream, std::uint32_t hop, std::span<const TaskId> deps) {
    task_.lane = static_cast<std::uint32_t>(lane);
    task_.stream = stream;
    if (hop != kNoTransfer) graph_.network.transfer_of.push_back(hop);
    return graph_.add(task_, deps);
  }

 private:
  const ChunkedCollective& collective_;
  TaskGraph& graph_;
  double bytes_;
  Task task_;
};

void add_ring(const ChunkedCollective& c, TaskGraph& graph, Messages& messages) {
  const int n = c.ranks;
  std::vector<std::uint32_t> hops;
  for (int i = 0; i < n; ++i) hops.push_back(messages.hop(i, (i + 1) % n));
  // Step k-1 of rank i itself comes before on its stream.
  for (std::int64_t k = 0; k < ring_steps(c); ++k) {
    const auto before = static_cast<TaskId>(graph.tasks.size()) - static_cast<TaskId>(n);
    for (int i = 0; i < n; ++i) {
      const TaskId received = k == 0 ? kNoTask : before + static_cast<TaskId>((i + n - 1) % n);
      messages.add(i, Stream::Dp, hops[static_cast<std::size_t>(i)], after(received));
    }
  }
}

void add_all_to_all(const ChunkedCollective& c, Messages& messages) {
  for (int k = 1; k < c.ranks; ++k) {
    for (int i = 0; i < c.ranks; ++i) {
      messages.add(i, Stream::Dp, messages.hop(i, (i + k) % c.ranks), {});
    }
  }
}

void add_chain(const ChunkedCollective& c, Messages& messages) {
  std::vector<std::uint32_t> hops;
  for (int i = 0; i + 1 < c.ranks; ++i) hops.push_back(messages.hop(i, i + 1));
  for (int chunk = 0; chunk < c.chunks; ++chunk) {
    TaskId received = kNoTask;
    for (int i = 0; i + 1 < c.ranks; ++i) {
      received = messages.add(i, Stream::Dp, hops[static_cast<std::size_t>(i)], after(received));
    }
  }
}

/// A binary tree below rank 0 or, `second`, its mirror image, for odd counts its shift by one:
/// every rank is a leaf in one of the two.
struct Tree {
  std::vector<int> parent;    ///< by rank; -1: root
  std::vector<int> top_down;  ///< ranks without the root, parents first
  std::vector<std::vector<int>> children;
};

Tree make_tree(int n, bool second) {
  const auto rank_at = [&](int position) {
    if (!second) return position;
    return n % 2 == 0 ? n - 1 - position : (position + 1) % n;
  };
  Tree tree;
  tree.parent.assign(static_cast<std::size_t>(n), -1);
  tree.children.resize(static_cast<std::size_t>(n));
  std::vector<int> depth(static_cast<std::size_t>(n), 0);  // by position
  const auto above = [&](int position) {
    const int low = position & -position;
    const int up = (position ^ low) | (low << 1);
    return up < n ? up : position ^ low;
  };
  for (int p = 1; p < n; ++p) {
    for (int q = p; q != 0; q = above(q)) ++depth[static_cast<std::size_t>(p)];
    tree.parent[static_cast<std::size_t>(rank_at(p))] = rank_at(above(p));
    tree.children[static_cast<std::size_t>(rank_at(above(p)))].push_back(rank_at(p));
  }
  std::vector<int> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](int a, int b) {
    return depth[static_cast<std::size_t>(a)] < depth[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 1; i < positions.size(); ++i) {
    tree.top_down.push_back(rank_at(positions[i]));
  }
  return tree;
}

/// Chunk by chunk: up to the root as soon as all children have sent theirs, and down again.
void add_tree(const ChunkedCollective& c, const Tree& tree, int first_lane, Messages& messages) {
  const auto n = static_cast<std::size_t>(c.ranks);
  std::vector<std::uint32_t> hop_up(n, kNoTransfer), hop_down(n, kNoTransfer);
  for (const int rank : tree.top_down) {
    const auto r = static_cast<std::size_t>(rank);
    hop_up[r] = messages.hop(rank, tree.parent[r]);
    hop_down[r] = messages.hop(tree.parent[r], rank);
  }
  std::vector<TaskId> up(n, kNoTask), down(n, kNoTask), received;
  const auto gather = [&](std::size_t rank) {
    received.clear();
    for (const int child : tree.children[rank])
      received.push_back(up[static_cast<std::size_t>(child)]);
  };
  for (int chunk = 0; chunk < c.chunks; ++chunk) {
    for (auto rank = tree.top_down.rbegin(); rank != tree.top_down.rend(); ++rank) {
      const auto r = static_cast<std::size_t>(*rank);
      gather(r);
      up[r] = messages.add(first_lane + *rank, Stream::PpUp, hop_up[r], received);
    }
    for (const int rank : tree.top_down) {
      const auto r = static_cast<std::size_t>(rank);
      const auto parent = static_cast<std::size_t>(tree.parent[r]);
      if (tree.parent[parent] < 0) {
        gather(parent);
      } else {
        received.assign(1, down[parent]);
      }
      down[r] = messages.add(first_lane + rank, Stream::PpDown, hop_down[r], received);
    }
  }
}

/// Dependencies of all messages, for the one allocation.
std::int64_t dependency_count(Pattern pattern, const ChunkedCollective& c, std::int64_t messages) {
  switch (pattern) {
    case Pattern::Ring:
      return messages - c.ranks;
    case Pattern::Chain:
      return messages - c.chunks;
    case Pattern::AllToAll:
      return 0;
    case Pattern::Tree:
      return messages;
  }
  return 0;
}

}  // namespace

std::int64_t message_count(const ChunkedCollective& c) {
  inspect_input(c);
  const double hops = c.ranks - 1.0;
  const Pattern pattern = pattern_of(c);
  double count = 0;
  switch (pattern) {
    case Pattern::Ring:
      count = static_cast<double>(ring_steps(c)) * c.ranks;
      break;
    case Pattern::AllToAll:
      count = hops * c.ranks;
      break;
    case Pattern::Tree:
      count = 4 * hops * c.chunks;
      break;
    case Pattern::Chain:
      count = hops * c.chunks;
      break;
  }
  if (count > static_cast<double>(kMaxMessages)) {
    fail("of " + std::to_string(c.ranks) + " ranks would take " + std::to_string(count) +
             " messages",
         "at most " + std::to_string(kMaxMessages) + " are simulated one by one");
  }
  return static_cast<std::int64_t>(count);
}

TaskGraph collective_graph(const ChunkedCollective& c) {
  const std::int64_t count = message_count(c);
  const Pattern pattern = pattern_of(c);
  const int trees = pattern == Pattern::Tree ? 2 : 1;
  TaskGraph graph;
  graph.lanes.resize(static_cast<std::size_t>(c.ranks) * static_cast<std::size_t>(trees));
  for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    graph.lanes[lane].representative = static_cast<int>(lane % static_cast<std::size_t>(c.ranks));
  }
  Messages messages(c, pattern, graph);
  if (count == 0) return graph;
  graph.reserve(static_cast<std::size_t>(count),
                static_cast<std::size_t>(dependency_count(pattern, c, count)));
  if (c.route) graph.network.transfer_of.reserve(static_cast<std::size_t>(count));
  switch (pattern) {
    case Pattern::Ring:
      add_ring(c, graph, messages);
      break;
    case Pattern::AllToAll:
      add_all_to_all(c, messages);
      break;
    case Pattern::Chain:
      add_chain(c, messages);
      break;
    case Pattern::Tree:
      for (const bool second : {false, true}) {
        add_tree(c, make_tree(c.ranks, second), second ? c.ranks : 0, messages);
      }
      break;
  }
  return graph;
}

}  // namespace paceline::sim
