// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <map>

#include "kernels/collective/communicator.hpp"
#include "kernels/train/device.hpp"
#include "kernels/train/groups.hpp"

namespace paceline::kernels::train {

/// Messages of equal size between the ranks of a pipeline. Each ordered pair of ranks has a
/// communicator and a stream of its own, in which messages arrive in the order they are sent: no
/// tags are needed, and no message waits for one of another pair. Sends return at once, receives
/// are posted before they are needed, so no order of actions that verify() passes can deadlock.
class Channels {
 public:
  /// Every rank of `world` calls it with the same pairs (pipeline ranks that send and receive).
  Channels(Device& device, const Communicator& world, const models::Mesh& mesh,
           const std::vector<std::pair<int, int>>& pairs, std::int64_t elements);
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  /// Begins a run in which each rank sends that many messages.
  void begin(const std::map<int, int>& incoming);
  void send(int to, Block message);
  /// Message `number` from a rank in this run; waits for it.
  Block receive(int from, int number);
  /// Waits until everything sent in this run has been received.
  void end();

 private:
  struct Message {
    Request request;
    Block data;
  };
  struct Channel {
    Communicator pair;  ///< rank 0 sends to rank 1
    Stream stream;
    std::deque<Message> sent;
    std::map<int, Message> posted;  ///< by number
    int next = 0, expected = 0;     ///< to be posted; in this run
  };
  void post_until(Channel& channel, int end);

  Device& device_;
  std::int64_t elements_;
  std::map<int, Channel> to_, from_;  ///< by pipeline rank
};

}  // namespace paceline::kernels::train
