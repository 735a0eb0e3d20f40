// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabric_reader.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "models/hardware/fabric_builder.hpp"

namespace paceline::models {
namespace {

constexpr std::size_t kMaxListed = 10'000;  ///< changes of a wire, wires with faults

/// `read` of one number whose source stands with it, or once for its whole list entry.
template <class Read>
auto read_number(FabricInput& in, std::string_view key, Read read) {
  const base::Value& value = in.fields.at(key);
  if (value.kind == base::Value::Kind::Map || !in.fields.has("source"))
    return sourced(in.fields, key, in.sources, in.facts, in.prefix, read);
  const std::string source = source_text(in.fields, in.sources);
  auto number = read(in.fields, key);
  put_fact(in.facts, {in.prefix + std::string(key), value.text, source});
  return number;
}

int nodes_of(const Cluster& cluster) {
  int nodes = 0;
  for (const NodeGroup& group : cluster.groups) nodes += group.nodes;
  return nodes;
}

/// Why these nodes do not go into the fabric; empty when they do.
std::string misfit(const FabricSpec& spec, std::int64_t nodes) {
  const std::string count = std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
  const std::int64_t dragonfly =
      std::int64_t{spec.groups} * spec.routers_per_group * spec.nodes_per_router;
  if (spec.kind == "dragonfly" && nodes > dragonfly)
    return count + ", but the dragonfly has places for " + std::to_string(dragonfly);
  const std::int64_t torus = std::int64_t{spec.dims[0]} * spec.dims[1] * spec.dims[2];
  if (spec.kind == "torus" && nodes > torus)
    return count + ", but the torus has places for " + std::to_string(torus);
  std::int64_t placed = 0;
  for (const SiteSpec& site : spec.sites) placed += site.nodes;
  if (spec.kind == "sites" && nodes > placed)
    return count + ", but the sites have " + std::to_string(placed) + " together";
  return "";
}

std::vector<WireFault> read_faults(FabricInput& in) {
  std::vector<WireFault> faults;
  if (!in.fields.has("wires")) return faults;
  const auto& items = in.fields.list("wires");
  if (items.size() > kMaxListed)
    in.fields.fail("wires", "at most " + std::to_string(kMaxListed) + " entries");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string name = "wires." + std::to_string(i);
    base::Fields view = in.fields.view(items[i], name);
    FabricInput entry = in.entry(view, name);
    WireFault fault{view.text("wire"), view.flag("broken", false), {}};
    fault.changes = entry.changes();
    const auto same = [&](const WireFault& f) { return f.wire == fault.wire; };
    if (std::any_of(faults.begin(), faults.end(), same))
      view.fail("wire", base::quote(fault.wire) + " stands twice");
    if (!fault.broken && fault.changes.empty())
      view.fail("broken", "missing", "say broken: true or give changes");
    view.has("source");
    view.done();
    faults.push_back(std::move(fault));
  }
  return faults;
}

/// Every stated wire must exist, and what is left must join all devices.
void check_faults(const base::Fields& fields, std::string_view key, const Cluster& cluster) {
  if (cluster.fabric.faults.empty()) return;
  Cluster whole = cluster;
  whole.fabric.faults.clear();
  Fabric fabric = make_fabric(whole);
  std::vector<std::string> names;
  for (const Wire& wire : fabric.wires) names.push_back(wire.name);
  std::sort(names.begin(), names.end());
  for (const WireFault& fault : cluster.fabric.faults)
    if (!std::binary_search(names.begin(), names.end(), fault.wire))
      fields.fail(key, "the fabric has no wire " + base::quote(fault.wire),
                  base::suggest(fault.wire, names, "one of"));
  apply_faults(fabric, cluster.fabric.faults);
  const std::string cut = unreachable_pair(fabric);
  if (!cut.empty()) fields.fail(key, cut);
}

}  // namespace

int FabricInput::integer(std::string_view key, int low, int high) {
  const auto read = [&](base::Fields& f, std::string_view k) { return f.integer(k, low, high); };
  return static_cast<int>(read_number(*this, key, read));
}

double FabricInput::number(std::string_view key, double low, double high) {
  const auto read = [&](base::Fields& f, std::string_view k) { return f.number(k, low, high); };
  return read_number(*this, key, read);
}

base::BytesPerSecond FabricInput::rate(std::string_view key) {
  const auto read = [](base::Fields& f, std::string_view k) { return f.rate(k); };
  const base::BytesPerSecond rate = read_number(*this, key, read);
  if (!(rate.value > 0)) fields.fail(key, "must be above 0");
  if (!(rate.value <= kMaxWireRate)) fields.fail(key, "must be at most 1000 TB/s");
  return rate;
}

void FabricInput::check_wires(std::string_view key, double count) const {
  if (count <= kMaxFabricWires) return;
  fields.fail(key, "a network of more than 2^21 wires", "make it smaller");
}

base::Seconds FabricInput::latency(std::string_view key) {
  if (!fields.has(key)) return {};
  const auto read = [](base::Fields& f, std::string_view k) { return f.seconds(k); };
  const base::Seconds latency = read_number(*this, key, read);
  if (!(latency.value >= 0 && latency.value <= 60)) fields.fail(key, "must lie between 0 and 60 s");
  return latency;
}

int FabricInput::group(std::string_view key) {
  const int count = integer(key, 1, kMaxDevices);
  if (count > nodes)
    fields.fail(
        key,
        std::to_string(count) + " nodes, more than the " + std::to_string(nodes) + " there are",
        "at most " + std::to_string(nodes));
  return count;
}

std::vector<RateChange> FabricInput::changes() {
  std::vector<RateChange> list;
  if (!fields.has("changes")) return list;
  const auto& items = fields.list("changes");
  if (items.size() > kMaxListed)
    fields.fail("changes", "at most " + std::to_string(kMaxListed) + " entries");
  for (std::size_t i = 0; i < items.size(); ++i) {
    base::Fields view = fields.view(items[i], "changes." + std::to_string(i));
    const RateChange change{view.seconds("at"), view.rate("bandwidth")};
    if (!list.empty() && !(change.at > list.back().at))
      view.fail("at", "not after the change before it", "list changes in ascending time");
    if (!(change.bandwidth.value <= kMaxWireRate))
      view.fail("bandwidth", "must be at most 1000 TB/s");
    view.done();
    list.push_back(change);
  }
  return list;
}

FabricInput FabricInput::entry(base::Fields& view, const std::string& name) const {
  return {view, sources, facts, prefix + name + ".", cluster, nodes};
}

void read_fabric_body(FabricInput& in, bool only_nested, FabricSpec& spec) {
  std::vector<base::Named<const FabricKind*>> choices;
  for (const FabricKind& kind : fabric_kinds())
    if (kind.nests || !only_nested) choices.emplace_back(kind.name, &kind);
  const FabricKind* kind =
      in.fields.choice("kind", std::span<const base::Named<const FabricKind*>>(choices));
  spec.kind = std::string(kind->name);
  kind->read(in, spec);
}

void read_fabric(base::Fields& fields, const SourceList& sources, Cluster& cluster) {
  for (const std::string_view key : {"oversubscription", "nodes_per_switch"})
    if (fields.has(key))
      fields.fail(key, "stands beside 'fabric'",
                  "state it inside the fabric, or leave 'fabric' out");
  std::erase_if(cluster.facts, [](const Fact& fact) {
    return fact.key.starts_with("fabric.") || fact.key == "oversubscription" ||
           fact.key == "nodes_per_switch";
  });
  cluster.fabric = {};
  cluster.oversubscription = 1;
  cluster.nodes_per_switch = 0;
  if (cluster.groups.front().ports_per_node == 0)
    fields.fail("fabric", "the nodes have no network to join", "give network and ports");
  if (cluster.devices() > kMaxFabricDevices)
    fields.fail("fabric", std::to_string(cluster.devices()) + " devices",
                "at most " + std::to_string(kMaxFabricDevices) + " (2^20) are supported");
  if (fields.at("fabric").kind != base::Value::Kind::Map) {
    const std::array<base::Named<int>, 1> plain{{{"switch", 0}}};
    fields.choice("fabric", std::span<const base::Named<int>>(plain));
    cluster.fabric.kind = "switch";
    return;
  }
  base::Fields map = fields.map("fabric");
  FabricSpec spec;
  FabricInput in{map, sources, cluster.facts, "fabric.", cluster, nodes_of(cluster)};
  read_fabric_body(in, false, spec);
  spec.faults = read_faults(in);
  map.done();
  int placed = 0;
  for (const SiteSpec& site : spec.sites) placed += site.nodes;
  if (placed > 0 && placed != in.nodes)
    map.fail("sites", std::to_string(in.nodes) + (in.nodes == 1 ? " node" : " nodes") +
                          ", but the sites have " + std::to_string(placed) + " together");
  cluster.fabric = std::move(spec);
  check_fabric(map, cluster.fabric.faults.empty() ? "kind" : "wires", cluster);
}

void check_fabric(const base::Fields& fields, std::string_view key, Cluster& cluster) {
  FabricSpec& spec = cluster.fabric;
  if (spec.kind.empty()) return;
  if (cluster.devices() > kMaxFabricDevices)
    fields.fail(key, std::to_string(cluster.devices()) + " devices",
                "a cluster with a fabric has at most " + std::to_string(kMaxFabricDevices));
  const std::string problem = misfit(spec, nodes_of(cluster));
  if (!problem.empty()) fields.fail(key, problem);
  if (spec.nodes_per_leaf > 0) {  // the closed forms know leaves by these
    const FabricPart all{0, nodes_of(cluster), "", {}};
    if (spec.spines > 0) {
      const base::BytesPerSecond below = nodes_rate(cluster, all, 0, spec.nodes_per_leaf);
      spec.oversubscription = std::max(
          1.0, below / (spec.global * spec.spines * cluster.groups.front().network.efficiency));
    }
    cluster.nodes_per_switch = spec.nodes_per_leaf;
    cluster.oversubscription = spec.oversubscription;
  }
  settle_pairs(cluster);
  check_faults(fields, key, cluster);
}

}  // namespace paceline::models
