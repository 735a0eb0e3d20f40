// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"
#include "kernels/hardware_engine/rank_tasks.hpp"

namespace paceline::hardware {

/// Bytes that Exchanges take, at the most.
double exchange_bytes(const RankPart& part);

/// The communication of one rank: groups, and memory for what comes and goes. What is sent does not
/// matter, only how much. Messages of MPI proceed while somebody looks (progress); those of a GPU
/// are enqueued, each direction between two ranks in a stream and a communicator of its own, where
/// they meet in the order in which both sides enqueue them.
class Exchanges {
 public:
  Exchanges(const RankPart& part, const sim::TaskGraph& graph, const kernels::Backend& backend,
            const kernels::Communicator& world);
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;
  ~Exchanges();

  /// Before a step, on all ranks: receives nothing yet of it.
  void begin();
  /// The message is on its way, from this rank, or enqueued in stream_to().
  void send(const sim::Exchange& message);
  kernels::Stream stream_to(const sim::Exchange& message) const;
  /// Looks after what is under way; calls arrived(message) for every message that has come.
  template <class F>
  void progress(const F& arrived) {
    for (Peer& peer : peers_) {
      while (take(peer)) arrived(*peer.messages[peer.taken - 1]);
    }
    drop_sent();
  }
  /// Where work is enqueued: receives all messages of the sender up to this task; calls
  /// enqueued(message, stream) behind each.
  template <class F>
  void expect(const sim::Exchange& message, const F& enqueued) {
    for (Peer& peer : peers_) {
      if (peer.rank != message.ranks.front()) continue;
      while (peer.posted < peer.messages.size()) {
        enqueue(peer);
        const sim::Exchange& next = *peer.messages[peer.posted - 1];
        enqueued(next, peer.way.stream);
        if (next.task == message.task) return;
      }
    }
  }
  /// Returns when all members have been here, or when that is enqueued.
  void collective(const sim::Exchange& exchange, sim::Stream kind, kernels::Stream stream);
  /// After a step: everything sent has been received.
  void finish();

 private:
  /// Messages from one rank to another.
  struct Way {
    std::optional<kernels::Communicator> pair;  ///< rank 0 sends to rank 1; none: tags in the world
    kernels::Stream stream;
  };
  /// Receives from one rank, posted a few ahead.
  struct Peer {
    int rank = 0;
    Way way;
    std::vector<const sim::Exchange*> messages;
    std::size_t posted = 0, taken = 0;
    std::vector<std::unique_ptr<kernels::Buffer>> buffers;
    std::vector<kernels::Request> requests;
  };
  void make_ways();
  void make_buffers(const RankPart& part);
  /// Whether the next message of the peer has come; counts it and posts another.
  bool take(Peer& peer);
  void post(Peer& peer);
  void enqueue(Peer& peer);
  void drop_sent();
  kernels::Tensor tensor(const kernels::Buffer& buffer, double bytes) const;

  const kernels::Backend& backend_;
  const kernels::Communicator& world_;
  std::vector<Peer> peers_;
  std::map<int, Way> to_;  ///< by the rank that receives
  std::vector<kernels::Request> sent_;
  std::map<std::pair<sim::Stream, std::vector<int>>, kernels::Communicator> groups_;
  std::unique_ptr<kernels::Buffer> outgoing_, whole_, share_;
};

}  // namespace paceline::hardware
