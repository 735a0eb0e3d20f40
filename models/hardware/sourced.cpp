// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/sourced.hpp"

#include <algorithm>

#include "base/message.hpp"

namespace paceline::models {

SourceList read_sources(base::Fields& fields) {
  SourceList list{true, {}};
  base::Fields map = fields.map("sources");
  for (const base::Field& field : fields.at("sources").fields) {
    const std::string text = map.text(field.key);
    if (text.empty()) map.fail(field.key, "empty source", "say where the numbers come from");
    list.names.emplace_back(field.key, text);
  }
  if (list.names.empty()) fields.fail("sources", "names no source");
  return list;
}

std::string source_text(base::Fields& fields, const SourceList& sources) {
  const std::string name = fields.text("source");
  std::vector<std::string> known;
  for (const auto& [key, text] : sources.names) {
    if (key == name) return text;
    known.push_back(key);
  }
  if (!sources.required) {
    if (name.empty()) fields.fail("source", "empty source");
    return name;  // a scenario states its source in place
  }
  const std::string close = base::nearest(name, known);
  std::string hint =
      close.empty() ? "the file's sources are" : "did you mean '" + close + "'? known:";
  for (std::size_t i = 0; i < known.size(); ++i) hint += (i ? ", " : " ") + known[i];
  fields.fail("source", base::quote(name) + " is not under 'sources'", hint);
}

std::string joined_sources(const std::vector<Fact>& facts) {
  std::vector<std::string> seen;
  std::string all;
  for (const Fact& fact : facts) {
    if (fact.source.empty() || std::find(seen.begin(), seen.end(), fact.source) != seen.end())
      continue;
    seen.push_back(fact.source);
    all += (all.empty() ? "" : "; ") + fact.source;
  }
  return all;
}

void put_fact(std::vector<Fact>& facts, Fact fact) {
  const auto same = [&](const Fact& f) { return f.key == fact.key; };
  const auto at = std::find_if(facts.begin(), facts.end(), same);
  if (at == facts.end())
    facts.push_back(std::move(fact));
  else
    *at = std::move(fact);
}

void fail_unsourced(const base::Fields& fields, std::string_view key) {
  fields.fail(key, "a number without its source",
              "write {value: …, source: NAME} with NAME a key of 'sources'");
}

std::string facts_table(const std::vector<Fact>& facts) {
  std::size_t key_width = 0, value_width = 0;
  for (const Fact& fact : facts) {
    key_width = std::max(key_width, fact.key.size());
    value_width = std::max(value_width, fact.value.size());
  }
  std::string out;
  for (const Fact& fact : facts) {
    out += "  " + fact.key + std::string(key_width - fact.key.size() + 2, ' ') + fact.value;
    if (!fact.source.empty())
      out += std::string(value_width - fact.value.size() + 2, ' ') + fact.source;
    out += "\n";
  }
  return out;
}

}  // namespace paceline::models
