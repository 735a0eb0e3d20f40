// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/hardware/device.hpp"

/// Numbers with their sources, shared by the hardware readers.
namespace paceline::models {

/// Where the numbers of one document come from. In a spec file every number is a map of value and
/// source and the source is a key of the file's `sources`; in a scenario a plain number will do,
/// its source being the place it stands at.
struct SourceList {
  bool required = false;
  std::vector<std::pair<std::string, std::string>> names;  ///< key of `sources`, its text
};

/// Reads `sources: {sheet: "NVIDIA A100 data sheet", …}`; every source of a spec is required.
SourceList read_sources(base::Fields& fields);

/// The text behind a source name; Error when the file does not define it.
std::string source_text(base::Fields& fields, const SourceList& sources);

/// Joins the distinct sources of some facts with "; ".
std::string joined_sources(const std::vector<Fact>& facts);

/// Adds a fact, replacing the one of the same key.
void put_fact(std::vector<Fact>& facts, Fact fact);

/// The error for a number of a spec that has no source.
[[noreturn]] void fail_unsourced(const base::Fields& fields, std::string_view key);

/// Reads one number with `read(fields, key)` and records it in `facts` under `prefix` + key.
template <class Read>
auto sourced(base::Fields& fields, std::string_view key, const SourceList& sources,
             std::vector<Fact>& facts, const std::string& prefix, Read read) {
  const base::Value& node = fields.at(key);
  const std::string name = prefix + std::string(key);
  if (node.kind != base::Value::Kind::Map) {
    if (sources.required) fail_unsourced(fields, key);
    auto number = read(fields, key);
    put_fact(facts, {name, node.text, fields.where(key)});
    return number;
  }
  base::Fields map = fields.map(key);
  auto number = read(map, "value");
  const std::string text = map.at("value").text;
  const std::string source = source_text(map, sources);
  map.done();
  put_fact(facts, {name, text, source});
  return number;
}

/// "  key  value  source" lines, aligned.
std::string facts_table(const std::vector<Fact>& facts);

// Shared between the link and the cluster reader.
/// A link where a scenario or a cluster spec states it: a name, or a map over `spec: NAME` or over
/// `under`. Its own numbers are recorded in the link's facts.
Link read_link_at(base::Fields& fields, std::string_view key, const SourceList& sources,
                  const Link* under);

}  // namespace paceline::models
