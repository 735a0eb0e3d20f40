// SPDX-License-Identifier: Apache-2.0
#include "reports/staleness.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {
namespace {

std::vector<std::int64_t> counts(base::Fields& from, std::string_view key) {
  std::vector<std::int64_t> out;
  for (const base::Value& item : from.list(key))
    out.push_back(base::parse_integer(item.text, from.where(item, key), 0, kLargestCount));
  return out;
}

std::string updates(int n) { return std::to_string(n) + (n == 1 ? " update" : " updates"); }

}  // namespace

void write_staleness(base::JsonWriter& json, const sim::Staleness& staleness) {
  json.begin_object();
  json.field("max", staleness.max).field("mean", staleness.mean);
  json.field("mismatch", staleness.mismatch);
  json.key("versions").begin_array(true);
  for (const int versions : staleness.versions) json.value(versions);
  json.end_array();
  json.key("histogram").begin_array(true);
  for (const std::int64_t gradients : staleness.histogram) json.value(gradients);
  json.end_array().end_object();
}

sim::Staleness read_staleness(base::Fields from) {
  sim::Staleness s;
  constexpr std::int64_t kMany = 2'000'000'000;
  s.max = static_cast<int>(from.integer("max", 0, kMany));
  s.mean = from.number("mean", 0, static_cast<double>(kMany));
  s.mismatch = static_cast<int>(from.integer("mismatch", 0, kMany));
  for (const std::int64_t versions : counts(from, "versions"))
    s.versions.push_back(static_cast<int>(std::min(versions, kMany)));
  s.histogram = counts(from, "histogram");
  if (!s.histogram.empty() && s.histogram.size() != static_cast<std::size_t>(s.max) + 1)
    from.fail("histogram", "contradicts max", "was the file edited?");
  from.done();
  return s;
}

std::string describe(const sim::Staleness& staleness) {
  std::string text;
  if (staleness.max == 0) {
    text = "gradients are applied to the weights they were made of";
  } else {
    text = "gradients up to " + updates(staleness.max) + " late, " +
           base::format_fixed(staleness.mean, 2) + " on average";
  }
  if (staleness.mismatch > 0)
    text += "; forward and backward up to " + updates(staleness.mismatch) + " apart";
  const int versions = staleness.versions.empty() ? 1
                                                  : *std::max_element(staleness.versions.begin(),
                                                                      staleness.versions.end());
  if (versions > 1) text += "; up to " + std::to_string(versions) + " versions of the weights";
  return text;
}

}  // namespace paceline::reports
