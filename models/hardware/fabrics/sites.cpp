// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/message.hpp"
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {
namespace {

/// Layout of Fabric::shape: sites and zones, the vertex of the first, the wire of the first WAN
/// link, then FabricSpec::via.
enum SitesShape { kSites, kFirstSite, kFirstWan, kVia };

/// Back from the end along the last link of every way.
void over_wan(const Fabric& fabric, int from_device, int to_device, std::vector<int>& route) {
  const std::vector<int>& shape = fabric.shape;
  const int from = fabric.network_top(from_device) - shape[kFirstSite];
  int at = fabric.network_top(to_device) - shape[kFirstSite];
  const auto begin = static_cast<std::ptrdiff_t>(route.size());
  while (at != from) {
    const int link = shape[static_cast<std::size_t>(kVia + from * shape[kSites] + at)];
    PACELINE_CHECK(link >= 0);
    route.push_back(shape[kFirstWan] + link);
    at = fabric.wires[static_cast<std::size_t>(route.back())].from - shape[kFirstSite];
  }
  std::reverse(route.begin() + begin, route.end());
}

std::string read_name(base::Fields& view, const std::vector<SiteSpec>& known) {
  const std::string name = view.text("name");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (name.empty() || name.size() > 60 || !std::all_of(name.begin(), name.end(), plain))
    view.fail("name", base::quote(name) + " is no name of a site",
              "names have 1 to 60 letters, digits, '-' and '_'");
  for (const SiteSpec& site : known)
    if (site.name == name) view.fail("name", base::quote(name) + " stands twice");
  return name;
}

void read_uplink(FabricInput& in, SiteSpec& site) {
  if (in.fields.has("uplink")) site.uplink = in.rate("uplink");
  site.uplink_latency = in.latency("uplink_latency");
}

SiteSpec read_site(base::Fields& view, FabricInput& in, const std::vector<SiteSpec>& known) {
  SiteSpec site;
  site.name = read_name(view, known);
  const int at = static_cast<int>(known.size());
  FabricInput entry = in.entry(view, "sites." + std::to_string(at));
  site.nodes = entry.group("nodes");
  read_uplink(entry, site);
  site.inside.kind = "switch";
  if (view.has("inside")) {
    base::Fields map = view.map("inside");
    FabricInput inside = entry.entry(map, "inside");
    inside.nodes = site.nodes;
    read_fabric_body(inside, true, site.inside);
    map.done();
  }
  return site;
}

int index_of(base::Fields& view, std::string_view key, const std::string& name,
             const std::vector<SiteSpec>& sites, std::size_t from = 0) {
  std::vector<std::string> names;
  for (std::size_t i = from; i < sites.size(); ++i) {
    if (sites[i].name == name) return static_cast<int>(i);
    names.push_back(sites[i].name);
  }
  view.fail(key, "unknown " + std::string(from == 0 ? "site " : "zone ") + base::quote(name),
            names.empty() ? "none is defined" : base::suggest(name, names, "one of"));
}

/// Zones hold sites and zones, each in one other at most, and none in itself.
void check_zones(const base::Fields& fields, const std::vector<SiteSpec>& sites) {
  for (const SiteSpec& site : sites) {
    int at = site.zone;
    for (std::size_t steps = 0; at >= 0; ++steps) {
      if (steps > sites.size())
        fields.fail("zones", "zone " + base::quote(site.name) + " lies in itself, by way of others",
                    "let 'in' lead to an outermost zone");
      at = sites[static_cast<std::size_t>(at)].zone;
    }
  }
}

void read_places(FabricInput& in, FabricSpec& spec) {
  const auto& items = in.fields.list("sites");
  if (items.size() < 2 || items.size() > kMaxSites)
    in.fields.fail("sites", "must be 2 to " + std::to_string(kMaxSites) + " sites");
  std::vector<base::Fields> views;
  for (std::size_t i = 0; i < items.size(); ++i) {
    views.push_back(in.fields.view(items[i], "sites." + std::to_string(i)));
    spec.sites.push_back(read_site(views.back(), in, spec.sites));
  }
  const std::size_t zones = spec.sites.size();
  if (in.fields.has("zones")) {
    const auto& list = in.fields.list("zones");
    if (list.size() > kMaxSites)
      in.fields.fail("zones", "at most " + std::to_string(kMaxSites) + " zones");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string name = "zones." + std::to_string(i);
      views.push_back(in.fields.view(list[i], name));
      SiteSpec zone;
      zone.name = read_name(views.back(), spec.sites);
      FabricInput entry = in.entry(views.back(), name);
      read_uplink(entry, zone);
      spec.sites.push_back(std::move(zone));
    }
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].has("in"))
      spec.sites[i].zone = index_of(views[i], "in", views[i].text("in"), spec.sites, zones);
    views[i].has("source");
    views[i].done();
  }
  if (in.fields.has("zones")) check_zones(in.fields, spec.sites);
}

void add_link(const base::Fields& view, std::string_view key, const WanLink& link,
              FabricSpec& spec) {
  const auto name = [&](int s) {
    return base::quote(spec.sites[static_cast<std::size_t>(s)].name);
  };
  if (link.from == link.to) view.fail(key, "joins " + name(link.from) + " to itself");
  for (const WanLink& other : spec.wan)
    if (other.from == link.from && other.to == link.to)
      view.fail(key, "a second link from " + name(link.from) + " to " + name(link.to),
                "state each direction once");
  spec.wan.push_back(link);
}

/// `{between: [A, B], …}` for both directions alike, `{from: A, to: B, …}` for one.
void read_link_entry(base::Fields& view, FabricInput& in, FabricSpec& spec) {
  WanLink link;
  const bool both = view.has("between");
  if (both == (view.has("from") || view.has("to")))
    view.fail(both ? "between" : "from", both ? "stands beside from and to" : "missing",
              "give between: [A, B] for both directions, or from and to for one");
  if (both) {
    const std::vector<std::string> ends = view.text_list("between");
    if (ends.size() != 2) view.fail("between", "must name two sites");
    link.from = index_of(view, "between", ends[0], spec.sites);
    link.to = index_of(view, "between", ends[1], spec.sites);
  } else {
    link.from = index_of(view, "from", view.text("from"), spec.sites);
    link.to = index_of(view, "to", view.text("to"), spec.sites);
  }
  view.at("latency");
  link.latency = in.latency("latency");
  link.bandwidth = in.rate("bandwidth");
  if (view.flag("broken", false)) link.bandwidth = {};
  if (view.has("cap_per_flow")) link.cap_per_flow = in.rate("cap_per_flow").value;
  link.changes = in.changes();
  view.has("source");
  view.done();
  const std::string_view key = both ? "between" : "from";
  add_link(view, key, link, spec);
  if (!both) return;
  std::swap(link.from, link.to);
  add_link(view, key, link, spec);
}

FabricPart part_of(const FabricPart& all, const SiteSpec& site, int first_node) {
  FabricPart part{all.first_node + first_node, site.nodes, all.prefix + site.name + "/", {}};
  for (const NicPort& nic : all.nics)
    if (nic.node >= part.first_node && nic.node < part.first_node + site.nodes)
      part.nics.push_back(nic);
  return part;
}

}  // namespace

void read_sites(FabricInput& in, FabricSpec& spec) {
  read_places(in, spec);
  if (in.fields.has("links")) {
    const auto& items = in.fields.list("links");
    if (items.size() > kMaxSites * kMaxSites) in.fields.fail("links", "too many links");
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string name = "links." + std::to_string(i);
      base::Fields view = in.fields.view(items[i], name);
      FabricInput entry = in.entry(view, name);
      read_link_entry(view, entry, spec);
    }
  }
  settle_sites(in.fields, in.fields.has("links") ? "links" : "sites", spec);
}

int build_sites(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part) {
  const auto first_site = static_cast<int>(builder.fabric.vertices.size());
  for (const SiteSpec& site : spec.sites)
    builder.add_vertex(part.prefix + site.name, VertexKind::Site);
  const auto first_wan = static_cast<int>(builder.fabric.wires.size());
  for (const WanLink& link : spec.wan) {
    const int id = builder.add_wire(first_site + link.from, first_site + link.to, link.bandwidth,
                                    wire_latency(link, builder.cluster));
    Wire& wire = builder.fabric.wires[static_cast<std::size_t>(id)];
    wire.changes = link.changes;
    wire.cap_per_flow = link.cap_per_flow;
  }
  int first_node = 0;
  for (std::size_t s = 0; s < spec.sites.size(); ++s) {
    const SiteSpec& site = spec.sites[s];
    const FabricPart inside = part_of(part, site, first_node);
    first_node += site.nodes;
    if (inside.nics.empty()) continue;
    const int top = fabric_kind(site.inside.kind).build(builder, site.inside, inside);
    const auto all = nodes_rate(builder.cluster, inside, inside.first_node, inside.nodes);
    builder.hang(top, first_site + static_cast<int>(s), site.uplink.value > 0 ? site.uplink : all,
                 site.uplink_latency);
  }
  builder.fabric.shape = {static_cast<int>(spec.sites.size()), first_site, first_wan};
  builder.fabric.shape.insert(builder.fabric.shape.end(), spec.via.begin(), spec.via.end());
  builder.fabric.between = &over_wan;
  return -1;
}

}  // namespace paceline::models::fabrics
