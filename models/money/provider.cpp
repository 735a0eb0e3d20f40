// SPDX-License-Identifier: Apache-2.0
#include "models/money/provider.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "base/table.hpp"
#include "models/hardware/sourced.hpp"

namespace paceline::models {
namespace {

using base::Fields;

constexpr double kMostUsd = 1e9;  ///< of anything per unit: slips of the hand lie above

std::optional<double> maybe(Fields& fields, std::string_view key, std::string_view unit,
                            const SourceList& sources, std::vector<Fact>& facts,
                            const std::string& prefix) {
  if (!fields.has(key)) return std::nullopt;
  return sourced(fields, key, sources, facts, prefix,
                 [&](Fields& f, std::string_view k) { return price(f, k, unit); });
}

/// Keys of a map of the document, in order: names of devices and regions.
std::vector<std::string> names_in(Fields& fields, std::string_view key) {
  std::vector<std::string> names;
  if (!fields.has(key)) return names;
  const base::Value& map = fields.at(key);
  if (map.kind != base::Value::Kind::Map) fields.fail(key, "is no map");
  for (const base::Field& field : map.fields) names.push_back(field.key);
  return names;
}

void read_devices(Fields& fields, const SourceList& sources, Provider& p) {
  const std::vector<std::string> names = names_in(fields, "devices");
  if (names.empty()) return;
  Fields all = fields.map("devices");
  for (const std::string& name : names) {
    Fields one = all.map(name);
    DevicePrice price{name, {}, {}, {}};
    const std::string prefix = name + ".";
    price.on_demand = maybe(one, "on_demand", "USD/h", sources, p.facts, prefix);
    price.reserved = maybe(one, "reserved", "USD/h", sources, p.facts, prefix);
    price.spot = maybe(one, "spot", "USD/h", sources, p.facts, prefix);
    one.done();
    p.devices.push_back(std::move(price));
  }
  all.done();
}

void read_regions(Fields& fields, const SourceList& sources, Provider& p) {
  const std::vector<std::string> names = names_in(fields, "regions");
  if (names.empty()) return;
  Fields all = fields.map("regions");
  for (const std::string& name : names) {
    Fields one = all.map(name);
    Region region{name, one.text("place", ""), {}, {}};
    region.carbon = maybe(one, "carbon", "kg/kWh", sources, p.facts, name + ".");
    region.electricity = maybe(one, "electricity", "USD/kWh", sources, p.facts, name + ".");
    one.done();
    p.regions.push_back(std::move(region));
  }
  all.done();
}

void read_egress(Fields& fields, const SourceList& sources, Provider& p) {
  if (!fields.has("egress")) return;
  Fields one = fields.map("egress");
  p.egress.internet = maybe(one, "internet", "USD/GB", sources, p.facts, "egress.");
  p.egress.region = maybe(one, "region", "USD/GB", sources, p.facts, "egress.");
  p.egress.far = maybe(one, "far", "USD/GB", sources, p.facts, "egress.");
  p.egress.zone = maybe(one, "zone", "USD/GB", sources, p.facts, "egress.");
  one.done();
}

}  // namespace

double parse_price(std::string_view text, std::string_view unit, const std::string& where) {
  const std::size_t blank = text.find(' ');
  const std::string example = "for example 2.5 " + std::string(unit);
  if (blank == std::string_view::npos)
    throw base::Error(where, base::quote(text) + " has no unit", example);
  std::string_view rest = text.substr(blank);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (rest != unit) throw base::Error(where, base::quote(text) + " has another unit", example);
  return base::parse_number(text.substr(0, blank), where, 0, kMostUsd);
}

double price(Fields& fields, std::string_view key, std::string_view unit) {
  const base::Value& value = fields.at(key);
  if (value.kind != base::Value::Kind::Scalar)
    fields.fail(key, "is no number with a unit", "for example 2.5 " + std::string(unit));
  return parse_price(value.text, unit, fields.where(key));
}

Provider read_provider(const base::Document& document, const std::string& name) {
  Fields fields(document, document.root);
  Provider p;
  p.name = name;
  p.summary = fields.text("summary");
  p.note = fields.text("note", "");
  SourceList sources = read_sources(fields);
  read_devices(fields, sources, p);
  read_regions(fields, sources, p);
  read_egress(fields, sources, p);
  p.storage = maybe(fields, "storage", "USD/GB-month", sources, p.facts, "");
  if (fields.has("pue"))
    p.pue = sourced(fields, "pue", sources, p.facts, "",
                    [](Fields& f, std::string_view k) { return f.number(k, 1, 10); });
  fields.done();
  p.source = joined_sources(p.facts);
  return p;
}

Provider read_provider(const std::string& name, const std::string& where) {
  return read_provider(base::read_document(spec_path("provider", name, where)), name);
}

const DevicePrice* find_price(const Provider& provider, const std::string& device) {
  for (const DevicePrice& price : provider.devices) {
    if (price.device == device) return &price;
  }
  return nullptr;
}

const Region& find_region(const Provider& provider, const std::string& name,
                          const std::string& where) {
  return base::find(provider.regions, name, where, "region of " + provider.name);
}

std::string describe(const Provider& provider) {
  std::string text = provider.name + ": " + provider.summary + "\n";
  if (!provider.note.empty()) text += "  " + provider.note + "\n";
  return text + facts_table(provider.facts);
}

}  // namespace paceline::models
