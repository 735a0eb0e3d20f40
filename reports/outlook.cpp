// SPDX-License-Identifier: Apache-2.0
#include "reports/outlook.hpp"

#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {

void write_outlook(base::JsonWriter& json, const sim::RunOutlook& o) {
  json.key("failures").begin_object();
  json.field("goodput", o.goodput.value);
  if (o.goodput.low) json.field("goodput_low", *o.goodput.low);
  if (o.goodput.high) json.field("goodput_high", *o.goodput.high);
  json.field("run_s", o.run_seconds);
  if (o.run_money > 0) json.field("run_usd", o.run_money);
  json.field("mtbf_s", o.mtbf).field("checkpoint_bytes", o.checkpoint_bytes);
  json.field("checkpoint_every_s", o.every).field("checkpoint_blocking_s", o.blocking);
  json.field("runs", o.runs).end_object();
}

sim::RunOutlook read_outlook(base::Fields from) {
  sim::RunOutlook o;
  o.goodput.value = from.number("goodput", 0, 1);
  if (from.has("goodput_low")) o.goodput.low = from.number("goodput_low", -kAny, kAny);
  if (from.has("goodput_high")) o.goodput.high = from.number("goodput_high", -kAny, kAny);
  o.run_seconds = from.number("run_s", 0, kAny);
  if (from.has("run_usd")) o.run_money = from.number("run_usd", 0, kAny);
  o.mtbf = from.number("mtbf_s", 0, kAny);
  o.checkpoint_bytes = from.number("checkpoint_bytes", 0, kAny);
  o.every = from.number("checkpoint_every_s", 0, kAny);
  o.blocking = from.number("checkpoint_blocking_s", 0, kAny);
  o.runs = static_cast<int>(from.integer("runs", 1, 2'000'000'000));
  from.done();
  return o;
}

std::vector<std::string> outlook_lines(const sim::RunOutlook& o) {
  const auto time = [](double seconds) {
    return seconds >= 2 * 86400  ? base::format_fixed(seconds / 86400, 1) + " days"
           : seconds >= 2 * 3600 ? base::format_fixed(seconds / 3600, 1) + " h"
                                 : base::format_seconds(base::Seconds(seconds));
  };
  std::string first = "goodput " + base::format_percent(o.goodput.value);
  if (o.goodput.low && o.goodput.high)
    first += " (" + base::format_percent(*o.goodput.low) + " to " +
             base::format_percent(*o.goodput.high) + " of " + std::to_string(o.runs) +
             " sampled runs' mean)";
  std::string run = "the run then takes " + time(o.run_seconds);
  if (o.run_money > 0) run += " and " + base::format_fixed(o.run_money, 0) + " USD";
  return {first, run,
          "the job fails every " + time(o.mtbf) + "; every " + time(o.every) +
              " of work a checkpoint of " + base::format_bytes(base::Bytes(o.checkpoint_bytes)) +
              " stops it for " + base::format_seconds(base::Seconds(o.blocking))};
}

}  // namespace paceline::reports
