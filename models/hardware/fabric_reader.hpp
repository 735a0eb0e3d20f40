// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "models/hardware/device.hpp"
#include "models/hardware/sourced.hpp"

/// Reading of the key `fabric` of a cluster.
namespace paceline::models {

/// One fabric being read; numbers are recorded as facts with their sources. A list entry may name
/// one source for all its numbers.
struct FabricInput {
  base::Fields& fields;
  const SourceList& sources;
  std::vector<Fact>& facts;
  std::string prefix;  ///< of the facts: "fabric."
  const Cluster& cluster;
  int nodes = 0;  ///< of the cluster, or of the site the fabric is inside of

  int integer(std::string_view key, int low, int high);
  double number(std::string_view key, double low, double high);
  /// Above 0, at most kMaxWireRate.
  base::BytesPerSecond rate(std::string_view key);
  /// At most a minute; 0 when absent.
  base::Seconds latency(std::string_view key);
  /// Nodes below one switch: no more than there are.
  int group(std::string_view key);
  /// `changes: [{at: 10 s, bandwidth: 1 Gb/s}]`, ascending in time; none when absent.
  std::vector<RateChange> changes();
  /// Error when the switches alone would have more than kMaxFabricWires.
  void check_wires(std::string_view key, double count) const;
  FabricInput entry(base::Fields& view, const std::string& name) const;
};

/// Reads `fabric: switch` or `fabric: {kind: fat-tree, …}` for a cluster whose nodes are known.
void read_fabric(base::Fields& fields, const SourceList& sources, Cluster& cluster);
/// The kind and what belongs to it, into `spec`; `only_nested` for the inside of a site.
void read_fabric_body(FabricInput& in, bool only_nested, FabricSpec& spec);
/// That the fabric, stated before some of the cluster was changed, still fits it; errors at `key`.
void check_fabric(const base::Fields& fields, std::string_view key, Cluster& cluster);
/// Finds the ways between sites; errors name both ends of a pair without one.
void settle_sites(const base::Fields& fields, std::string_view key, FabricSpec& spec);
/// Bandwidth and latency from site to site as the closed forms count them (FabricSpec::pairs).
void settle_pairs(Cluster& cluster);
/// Latency of a link without the hop of the sites' own network, which stands on the first wire of a
/// route: figures between sites are taken end to end.
base::Seconds wire_latency(const WanLink& link, const Cluster& cluster);

}  // namespace paceline::models
