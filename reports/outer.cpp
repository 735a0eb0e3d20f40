// SPDX-License-Identifier: Apache-2.0
#include "reports/outer.hpp"

#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {
void write_outer(base::JsonWriter& json, const sim::OuterResult& o) {
  json.key("outer").begin_object();
  json.field("workers", o.workers).field("inner_steps", o.inner_steps);
  json.field("round_s", o.round_seconds).field("step_s", o.step_seconds);
  json.field("utilisation", o.utilisation).field("exposed_s", o.exposed_seconds);
  json.field("sent_bytes", o.sent_bytes).field("tokens_per_s", o.tokens_per_s);
  json.field("data_parallel_tokens_per_s", o.data_parallel_tokens_per_s);
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
  o.sent_bytes = from.number("sent_bytes", 0, kAny);
  o.tokens_per_s = from.number("tokens_per_s", 0, kAny);
  o.data_parallel_tokens_per_s = from.number("data_parallel_tokens_per_s", 0, kAny);
  from.done();
  return o;
}

std::vector<std::string> outer_lines(const sim::OuterResult& o) {
  return {std::to_string(o.workers) + " workers, rounds of " + std::to_string(o.inner_steps) +
              (o.inner_steps == 1 ? " step" : " steps") + " take " +
              base::format_seconds(base::Seconds(o.round_seconds)) + ", compute " +
              base::format_percent(o.utilisation) + " of the time",
          base::format_count(o.tokens_per_s) +
              " tokens/s of all workers; exchanging in every step " +
              base::format_count(o.data_parallel_tokens_per_s) + " tokens/s",
          base::format_bytes(base::Bytes(o.sent_bytes)) + " sent by a worker in a round, " +
              base::format_seconds(base::Seconds(o.exposed_seconds)) + " waited for"};
}

}  // namespace paceline::reports
