// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/hardware/placement.hpp"

/// Layouts of groups that span sites.
namespace paceline::models {

/// Members of a group on one site.
struct SiteMembers {
  std::size_t site = 0;
  int devices = 0;  ///< of the site
  int members = 0;
};

bool has_sites(const Cluster& cluster);

/// The sites a group touches, in the order of devices.
std::vector<SiteMembers> members_by_site(const Cluster& cluster, std::span<const int> devices);
std::vector<SiteMembers> members_by_site(const Cluster& cluster, int first, std::int64_t stride,
                                         int count);

/// Turns the layout of a group's nodes into one of its sites, if there are several. The siblings of
/// a group share the way between two sites: devices over members of a site.
void over_sites(const Cluster& cluster, const std::vector<SiteMembers>& sites, GroupLayout& layout);

/// The layout of a message between sites: the way of its direction alone.
void one_way(const Cluster& cluster, int from, int to, GroupLayout& layout);

}  // namespace paceline::models
