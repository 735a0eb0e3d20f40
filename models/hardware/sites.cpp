// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/message.hpp"
#include "models/hardware/fabric_reader.hpp"
#include "models/hardware/ways.hpp"

namespace paceline::models {
namespace {

std::vector<Arc> live_arcs(const FabricSpec& spec) {
  std::vector<Arc> arcs;
  for (std::size_t l = 0; l < spec.wan.size(); ++l) {
    const WanLink& link = spec.wan[l];
    if (!(link.bandwidth.value > 0)) continue;  // broken
    arcs.push_back({link.from, link.to, link.latency.value, static_cast<int>(l)});
  }
  return arcs;
}

/// The links that zones bring: each place to the zone it lies in, and back.
void add_zone_links(FabricSpec& spec) {
  for (std::size_t s = 0; s < spec.sites.size(); ++s) {
    const SiteSpec& site = spec.sites[s];
    if (site.zone < 0) continue;
    const double rate = site.uplink.value > 0 ? site.uplink.value : kMaxWireRate;
    // The uplink of a site carries its latency itself.
    const base::Seconds latency = site.nodes > 0 ? base::Seconds() : site.uplink_latency;
    const int here = static_cast<int>(s);
    spec.wan.push_back({here, site.zone, base::BytesPerSecond(rate), latency, 0, {}, true});
    spec.wan.push_back({site.zone, here, base::BytesPerSecond(rate), latency, 0, {}, true});
  }
}

/// Latency adds up along the way from site a to site b, the slowest part sets the rate.
SitePair pair_over(const Cluster& cluster, std::size_t a, std::size_t b) {
  const FabricSpec& spec = cluster.fabric;
  const SiteSpec &from = spec.sites[a], &to = spec.sites[b];
  SitePair pair;
  pair.link.name = from.name + ">" + to.name;
  pair.link.kind = LinkKind::Wan;
  pair.link.claim = false;  // no model of collectives between sites has been measured
  double rate = kMaxWireRate;
  for (const SiteSpec* site : {&from, &to})
    if (site->uplink.value > 0) rate = std::min(rate, site->uplink.value);
  pair.link.latency = cluster.groups.front().network.latency + from.uplink_latency;
  for (std::size_t at = b; at != a;) {
    const auto via = static_cast<std::size_t>(spec.via[a * spec.sites.size() + at]);
    const WanLink& link = spec.wan[via];
    rate = std::min(rate, link.bandwidth.value);
    pair.link.latency += wire_latency(link, cluster);
    if (link.cap_per_flow > 0 && (pair.cap_per_flow == 0 || link.cap_per_flow < pair.cap_per_flow))
      pair.cap_per_flow = link.cap_per_flow;
    at = static_cast<std::size_t>(link.from);
  }
  pair.link.bandwidth = base::BytesPerSecond(rate);
  return pair;
}

}  // namespace

void settle_sites(const base::Fields& fields, std::string_view key, FabricSpec& spec) {
  for (const SiteSpec& site : spec.sites)
    if (site.nodes == 0 && site.zone < 0 &&
        (site.uplink.value > 0 || site.uplink_latency.value > 0))
      fields.fail(key,
                  "zone " + base::quote(site.name) + " has an uplink but lies in no other zone",
                  "state bandwidth and latency at its links");
  add_zone_links(spec);
  const std::vector<Arc> arcs = live_arcs(spec);
  const std::size_t all = spec.sites.size();
  std::size_t sites = 0;
  while (sites < all && spec.sites[sites].nodes > 0) ++sites;
  spec.via.clear();
  for (std::size_t a = 0; a < all; ++a) {
    const std::vector<int> last = last_arcs(static_cast<int>(all), arcs, static_cast<int>(a));
    spec.via.insert(spec.via.end(), last.begin(), last.end());
  }
  for (std::size_t a = 0; a < sites; ++a)
    for (std::size_t b = 0; b < sites; ++b)
      if (a != b && spec.via[a * all + b] < 0)
        fields.fail(key,
                    "no way leads from site " + base::quote(spec.sites[a].name) + " to site " +
                        base::quote(spec.sites[b].name),
                    "give a link between them, or links by way of others");
}

void settle_pairs(Cluster& cluster) {
  FabricSpec& spec = cluster.fabric;
  const auto sites = static_cast<std::size_t>(std::count_if(
      spec.sites.begin(), spec.sites.end(), [](const auto& s) { return s.nodes > 0; }));
  spec.pairs.clear();
  for (std::size_t a = 0; a < sites; ++a)
    for (std::size_t b = 0; b < sites; ++b)
      spec.pairs.push_back(a == b ? SitePair{} : pair_over(cluster, a, b));
}

base::Seconds wire_latency(const WanLink& link, const Cluster& cluster) {
  if (link.of_zone) return link.latency;
  const base::Seconds hop = cluster.groups.front().network.latency;
  return std::max(base::Seconds(0), link.latency - hop);
}

}  // namespace paceline::models
