// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"
#include "kernels/hardware_engine/rank_tasks.hpp"

namespace paceline::hardware {

/// The communication of one rank: groups, and memory for what comes and goes. What is sent does not
/// matter, only how much.
class Exchanges {
 public:
  Exchanges(const RankPart& part, const kernels::Backend& backend,
            const kernels::Communicator& world);

  /// Before a step, on all ranks: receives nothing yet of it.
  void begin();
  /// The message is on its way, from this rank.
  void send(const sim::Exchange& message);
  /// Looks after what is under way; calls arrived(message) for every message that has come.
  template <class F>
  void progress(const F& arrived) {
    for (Peer& peer : peers_) {
      while (take(peer)) arrived(*peer.messages[peer.taken - 1]);
    }
    drop_sent();
  }
  /// Returns when all members have been here.
  void collective(const sim::Exchange& exchange);
  /// After a step: everything sent has been received.
  void finish();

 private:
  /// Receives from one rank, posted a few ahead.
  struct Peer {
    int rank = 0;
    std::vector<const sim::Exchange*> messages;
    std::size_t posted = 0, taken = 0;
    std::vector<std::unique_ptr<kernels::Buffer>> buffers;
    std::vector<kernels::Request> requests;
  };
  /// Whether the next message of the peer has come; counts it and posts another.
  bool take(Peer& peer);
  void post(Peer& peer);
  void drop_sent();
  kernels::Tensor tensor(const kernels::Buffer& buffer, double bytes) const;

  const kernels::Communicator& world_;
  std::vector<Peer> peers_;
  std::vector<kernels::Request> sent_;
  std::map<std::vector<int>, kernels::Communicator> groups_;
  std::unique_ptr<kernels::Buffer> outgoing_, whole_, share_;
};

}  // namespace paceline::hardware
