// SPDX-License-Identifier: Apache-2.0
#include "reports/outer.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {
void write_outer(base::JsonWriter& json, const sim::OuterResult& o) {
  json.key("outer").begin_object();
  json.field("workers", o.workers).field("inner_steps", o.inner_steps);
  json.field("round_s", o.round_seconds).field("step_s", o.step_seconds);
  json.field("utilisation", o.utilisation).field("exposed_s", o.exposed_seconds);
  if (o.codec_seconds > 0) json.field("codec_s", o.codec_seconds);
  json.field("sent_bytes", o.sent_bytes).field("tokens_per_s", o.tokens_per_s);
  json.field("data_parallel_tokens_per_s", o.data_parallel_tokens_per_s);
  json.field("data_parallel_step_s", o.data_parallel_step_seconds);
  json.field("egress_bytes", o.egress_bytes);
  json.field("data_parallel_egress_bytes", o.data_parallel_egress_bytes);
  if (o.data_parallel_billion_tokens > 0)
    json.field("data_parallel_billion_tokens_usd", o.data_parallel_billion_tokens);
  json.field("missed", o.missed);
  json.key("links").begin_array();
  for (const sim::OuterLink& link : o.links) {
    json.begin_object().field("name", link.name).field("round_bytes", link.bytes);
    json.field("utilisation", link.utilisation).end_object();
  }
  json.end_array();
  json.end_object();
}

sim::OuterResult read_outer_result(base::Fields from) {
  sim::OuterResult o;
  o.workers = static_cast<int>(from.integer("workers", 1, 2'000'000'000));
  o.inner_steps = static_cast<int>(from.integer("inner_steps", 1, 2'000'000'000));
  o.round_seconds = from.number("round_s", 0, kAny);
  o.step_seconds = from.number("step_s", 0, kAny);
  o.utilisation = from.number("utilisation", 0, kAny);
  o.exposed_seconds = from.number("exposed_s", -kAny, kAny);
  if (from.has("codec_s")) o.codec_seconds = from.number("codec_s", 0, kAny);
  o.sent_bytes = from.number("sent_bytes", 0, kAny);
  o.tokens_per_s = from.number("tokens_per_s", 0, kAny);
  o.data_parallel_tokens_per_s = from.number("data_parallel_tokens_per_s", 0, kAny);
  o.data_parallel_step_seconds = from.number("data_parallel_step_s", 0, kAny);
  o.egress_bytes = from.number("egress_bytes", 0, kAny);
  o.data_parallel_egress_bytes = from.number("data_parallel_egress_bytes", 0, kAny);
  if (from.has("data_parallel_billion_tokens_usd"))
    o.data_parallel_billion_tokens = from.number("data_parallel_billion_tokens_usd", 0, kAny);
  o.missed = from.number("missed", 0, 1);
  for (const base::Value& item : from.list("links")) {
    base::Fields link = from.view(item, "links");
    o.links.push_back({link.text("name"), link.number("round_bytes", 0, kAny),
                       link.number("utilisation", 0, kAny)});
    link.done();
  }
  from.done();
  return o;
}

std::vector<std::string> outer_lines(const sim::OuterResult& o) {
  std::vector<std::string> lines{
      std::to_string(o.workers) + " workers, rounds of " + std::to_string(o.inner_steps) +
          (o.inner_steps == 1 ? " step" : " steps") + " take " +
          base::format_seconds(base::Seconds(o.round_seconds)) + ", compute " +
          base::format_percent(o.utilisation) + " of the time",
      base::format_count(o.tokens_per_s) + " tokens/s of all workers; exchanging in every step " +
          base::format_count(o.data_parallel_tokens_per_s) + " tokens/s",
      base::format_bytes(base::Bytes(o.sent_bytes)) + " sent by a worker in a round, " +
          base::format_seconds(base::Seconds(o.exposed_seconds)) + " waited for"};
  if (o.codec_seconds > 0)
    lines.back() += " (codecs take " + base::format_seconds(base::Seconds(o.codec_seconds)) + ")";
  if (o.data_parallel_billion_tokens > 0)
    lines.push_back("exchanging in every step costs " +
                    base::format_fixed(o.data_parallel_billion_tokens, 2) + " USD per 10^9 tokens");
  if (o.missed > 0)
    lines.push_back(base::format_percent(o.missed) +
                    " of the workers' exchanges did not take place");
  std::vector<sim::OuterLink> links = o.links;
  std::stable_sort(links.begin(), links.end(),
                   [](const auto& a, const auto& b) { return a.utilisation > b.utilisation; });
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(links.size(), kShown); ++i)
    lines.push_back(links[i].name + ": " + base::format_bytes(base::Bytes(links[i].bytes)) +
                    " a round, busy " + base::format_percent(links[i].utilisation));
  if (links.size() > kShown)
    lines.push_back("and " + std::to_string(links.size() - kShown) + " links that are less busy");
  return lines;
}

}  // namespace paceline::reports
