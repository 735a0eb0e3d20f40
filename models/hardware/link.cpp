// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/device.hpp"
#include "models/hardware/sourced.hpp"

namespace paceline::models {
namespace {

double share(base::Fields& fields, std::string_view key) {
  const double value = fields.number(key, 0, 1);
  if (!(value > 0)) fields.fail(key, "must be above 0 and at most 1");
  return value;
}

/// Reads the keys that are present over `link`; with `complete` bandwidth, latency and kind must
/// be.
void read_keys(base::Fields& fields, const SourceList& sources, bool complete, Link& link) {
  auto number = [&](std::string_view key, auto read) {
    return sourced(fields, key, sources, link.facts, "", read);
  };
  if (complete || fields.has("kind")) {
    link.kind = fields.choice("kind", std::span<const base::Named<LinkKind>>(kLinkKinds));
    link.claim = link.kind != LinkKind::Tcpx && link.kind != LinkKind::Ethernet &&
                 link.kind != LinkKind::SharedMemory;
  }
  link.claim = fields.flag("claim", link.claim);
  if (complete || fields.has("bandwidth")) {
    link.bandwidth =
        number("bandwidth", [](base::Fields& f, std::string_view k) { return f.rate(k); });
    if (!(link.bandwidth.value > 0)) fields.fail("bandwidth", "must be above 0");
  }
  if (fields.has("lanes"))
    link.lanes = static_cast<int>(
        number("lanes", [](base::Fields& f, std::string_view k) { return f.integer(k, 1, 1024); }));
  if (fields.has("efficiency")) link.efficiency = number("efficiency", share);
  if (complete || fields.has("latency")) {
    link.latency =
        number("latency", [](base::Fields& f, std::string_view k) { return f.seconds(k); });
    if (link.latency.value < 0 || link.latency.value > 60)
      fields.fail("latency", "must lie between 0 and 60 s");
  }
  link.multicast = fields.flag("multicast", link.multicast);
  if (fields.has("multicast_efficiency"))
    link.multicast_efficiency = number("multicast_efficiency", share);
  if (link.multicast && link.multicast_efficiency <= 0)
    fields.fail("multicast", "needs multicast_efficiency",
                "give the share NVLS reaches, for example 0.69");
  if (!link.multicast && fields.has("multicast_efficiency"))
    fields.fail("multicast_efficiency", "stands without multicast: true");
  link.sharp = fields.flag("sharp", link.sharp);
  if (link.sharp && link.kind != LinkKind::Infiniband)
    fields.fail("sharp", "stands on a link of kind " + std::string(to_text(link.kind)),
                "only InfiniBand switches reduce for NCCL (SHARP)");
}

}  // namespace

std::string_view to_text(LinkKind kind) {
  for (const auto& [name, value] : kLinkKinds)
    if (value == kind) return name;
  PACELINE_CHECK(false);
  return {};
}

Link read_link(const base::Document& document, const std::string& name) {
  base::Fields fields(document, document.root);
  Link link;
  link.name = name;
  link.summary = fields.text("summary");
  link.note = fields.text("note", "");
  const SourceList sources = read_sources(fields);
  fields.at("efficiency");  // a spec states it; only an inline link may leave it at 1
  read_keys(fields, sources, true, link);
  fields.done();
  link.source = joined_sources(link.facts);
  return link;
}

Link read_link(const std::string& name, const std::string& where) {
  return read_link(base::read_document(spec_path("link", name, where)), name);
}

Link read_link_at(base::Fields& fields, std::string_view key, const SourceList& sources,
                  const Link* under) {
  if (fields.at(key).kind != base::Value::Kind::Map)
    return read_link(fields.text(key), fields.where(key));
  base::Fields map = fields.map(key);
  Link link;
  const bool from_spec = map.has("spec");
  if (from_spec)
    link = read_link(map.text("spec"), map.where("spec"));
  else if (under)
    link = *under;
  read_keys(map, sources, !from_spec && !under, link);
  link.name =
      link.name.empty() ? map.text("name", "inline") : map.text("name", link.name + " (changed)");
  map.done();
  link.source = joined_sources(link.facts);
  return link;
}

std::string describe(const Link& link) {
  std::string out = link.name + ": " + link.summary + " (" + std::string(to_text(link.kind)) +
                    (link.multicast ? ", multicast" : "") + (link.sharp ? ", sharp" : "") + ")\n";
  if (!link.note.empty()) out += "  " + link.note + "\n";
  return out + facts_table(link.facts);
}

}  // namespace paceline::models
