// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"

namespace paceline::models {

/// One number of a spec: its dotted key, its text as written and where it comes from. "unknown"
/// with an empty source says that no public figure was found.
struct Fact {
  std::string key, value, source;
};

enum class LinkKind {
  NvLink,
  NvSwitch,
  Xgmi,
  Pcie,
  Infiniband,
  Roce,
  Efa,
  Slingshot,
  OmniPath,
  Tcpx,
  Ethernet,
  Wan,
  SharedMemory  ///< processes of one machine
};

inline constexpr std::array<base::Named<LinkKind>, 13> kLinkKinds{
    {{"nvlink", LinkKind::NvLink},
     {"nvswitch", LinkKind::NvSwitch},
     {"xgmi", LinkKind::Xgmi},
     {"pcie", LinkKind::Pcie},
     {"infiniband", LinkKind::Infiniband},
     {"roce", LinkKind::Roce},
     {"efa", LinkKind::Efa},
     {"slingshot", LinkKind::Slingshot},
     {"omni-path", LinkKind::OmniPath},
     {"tcpx", LinkKind::Tcpx},
     {"ethernet", LinkKind::Ethernet},
     {"wan", LinkKind::Wan},
     {"shared-memory", LinkKind::SharedMemory}}};
std::string_view to_text(LinkKind kind);

/// One kind of link (models/specs/link/NAME.yaml).
struct Link {
  std::string name;
  std::string source;       ///< the sources of its numbers, joined
  std::string summary;      ///< one line
  std::string note;         ///< may be empty
  std::vector<Fact> facts;  ///< every number with its source, in file order
  LinkKind kind = LinkKind::Infiniband;
  base::BytesPerSecond bandwidth;  ///< per device (inside a node) or per port (network), one way
  int lanes = 1;                   ///< NVLink links per device; 1 for networks
  double efficiency = 1;           ///< share of the bandwidth large transfers reach
  base::Seconds latency;           ///< one hop of a small (LL) message
  bool multicast = false;          ///< the switch adds and copies (NVLS)
  /// share of the bandwidth NVLS moves, (1 + 1/n) bytes a byte; 0 without
  double multicast_efficiency = 0;
  /// the switches of the network add what its members send (NVIDIA SHARP), and NCCL is set up to
  /// let them: its CollNet algorithms. InfiniBand only.
  bool sharp = false;
  /// false: no figure of a spec describes its collectives (sockets, TCPX, copies through the host);
  /// predictions over it without a measured log carry a warning
  bool claim = true;

  /// What large transfers reach, one way.
  base::BytesPerSecond rate() const { return bandwidth * efficiency; }
};

}  // namespace paceline::models
