// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace paceline::models {

/// What joins the nodes of a cluster, as its key `fabric` states it.
struct FabricSpec {
  std::string kind;  ///< a name of fabrics/list.def; empty: not stated
  int nodes_per_leaf = 0;
  double oversubscription = 1;  ///< downlink over uplink bandwidth of a leaf
};

}  // namespace paceline::models
