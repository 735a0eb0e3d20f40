// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "models/hardware/sourced.hpp"

namespace paceline::models {

/// One cluster being read: where its numbers come from and where they are recorded.
struct Reading {
  const SourceList& sources;
  std::vector<Fact>& facts;
  std::string prefix;  ///< "" or "groups.1."

  int integer(base::Fields& fields, std::string_view key, int low, int high) const {
    const auto read = [&](base::Fields& f, std::string_view k) { return f.integer(k, low, high); };
    return static_cast<int>(sourced(fields, key, sources, facts, prefix, read));
  }
  double number(base::Fields& fields, std::string_view key, double low, double high) const {
    const auto read = [&](base::Fields& f, std::string_view k) { return f.number(k, low, high); };
    return sourced(fields, key, sources, facts, prefix, read);
  }

  /// A link by name or in place; what a map states is recorded with the cluster's own numbers.
  Link link(base::Fields& fields, std::string_view key, const Link* under) const {
    Link read = read_link_at(fields, key, sources, under);
    const base::Value& node = fields.at(key);
    for (const base::Field& field : node.fields)
      for (const Fact& fact : read.facts)
        if (fact.key == field.key)
          put_fact(facts, {prefix + std::string(key) + "." + fact.key, fact.value, fact.source});
    return read;
  }
};

}  // namespace paceline::models
