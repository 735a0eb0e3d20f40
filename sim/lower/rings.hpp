// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "models/hardware/device.hpp"
#include "models/parallel/plan.hpp"

/// Who sends to whom when a group runs a collective in rings: its members in device order, domain
/// by domain; with k members a domain there are k rings, each leaving it through another member.
namespace paceline::sim {

/// Devices that reach each other without the network share this number.
int domain_of(const models::Cluster& cluster, int device);

/// The members of the group that `device` belongs to, in ascending order.
std::vector<int> members_of(int device, const std::vector<models::Axis>& axes);

/// The members, which ascend, domain by domain.
std::vector<std::vector<int>> by_domain(const models::Cluster& cluster,
                                        const std::vector<int>& members);

/// `flows` of the rings go from one device to another.
struct RingHop {
  int from = 0, to = 0;
  std::uint32_t flows = 1;
};
std::vector<RingHop> ring_hops(const models::Cluster& cluster, const std::vector<int>& members);

}  // namespace paceline::sim
