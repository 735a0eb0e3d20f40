// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// Links that tasks share, and what each task moves over them. The reference engine does not look
/// at it: there every transfer goes at the rate it has alone.
namespace paceline::sim {

/// One direction of a link.
struct NetworkLink {
  std::string name;
  double bandwidth = 0;  ///< bytes/s that large transfers reach together
  struct Change {
    double at = 0;         ///< seconds
    double bandwidth = 0;  ///< from then on; 0: the link is dead
  };
  std::vector<Change> changes;  ///< by time
  std::uint32_t alike = 1;      ///< links this one stands for: they carry the same flows
};

/// `flows` equal flows of one transfer pass the link.
struct LinkUse {
  std::uint32_t link = 0;
  std::uint32_t flows = 1;
};

/// What a message or collective moves: flows of equal size that start and end together. Alone it
/// takes `latency + bytes / rate`, where no link on its way is narrower.
struct Transfer {
  double latency = 0;  ///< seconds before the first byte moves; not shared
  double bytes = 0;    ///< of one flow
  double rate = 0;     ///< bytes/s of one flow at most
  std::vector<LinkUse> uses;
};

inline constexpr std::uint32_t kNoTransfer = std::numeric_limits<std::uint32_t>::max();

struct Network {
  std::vector<NetworkLink> links;
  std::vector<Transfer> transfers;
  std::vector<std::uint32_t> transfer_of;  ///< by task, kNoTransfer: none; may end early
  std::vector<std::string> assumptions;    ///< what the links and transfers leave out

  const Transfer* transfer(std::uint32_t task) const {
    if (task >= transfer_of.size() || transfer_of[task] == kNoTransfer) return nullptr;
    return &transfers[transfer_of[task]];
  }
  bool empty() const { return transfers.empty(); }
};

}  // namespace paceline::sim
