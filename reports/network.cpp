// SPDX-License-Identifier: Apache-2.0
#include "reports/network.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {
namespace {

constexpr std::size_t kShown = 3;  ///< links on screen; the file has all

double slowdown(const sim::NetworkResult& network, double step_time) {
  return network.alone_time > 0 ? step_time / network.alone_time - 1 : 0;
}

double mean(const sim::SharedLink& link) {
  double sum = 0;
  for (const double share : link.utilisation) sum += share;
  return sum / static_cast<double>(link.utilisation.size());
}

std::string link_line(const sim::SharedLink& link) {
  std::string text = link.name;
  if (link.alike > 1) text += " (" + std::to_string(link.alike) + " alike)";
  return text + ", " + base::format_fixed(link.bandwidth / 1e9, 1) + " GB/s: used " +
         base::format_percent(mean(link)) + " [" + utilisation_strip(link) + "], late " +
         base::format_seconds(base::Seconds(link.delay));
}

}  // namespace

std::string utilisation_strip(const sim::SharedLink& link) {
  constexpr std::string_view kRamp = " .:-=+*#%@";
  std::string strip;
  for (const double share : link.utilisation) {
    const auto step = std::lround(std::clamp(share, 0.0, 1.0) * (kRamp.size() - 1));
    strip += share > 0 ? kRamp[static_cast<std::size_t>(std::max(1L, step))] : ' ';
  }
  return strip;
}

std::vector<std::string> network_lines(const sim::NetworkResult& network, double step_time,
                                       const TextStyle& style) {
  std::vector<std::string> lines;
  const std::string head = paint("Network    ", Ink::Bold, style);
  if (network.links.empty()) {
    lines.push_back(head + "no transfer slowed another down");
    return lines;
  }
  lines.push_back(head + base::format_seconds(base::Seconds(network.alone_time)) +
                  " if every transfer had its links to itself; sharing adds " +
                  base::format_percent(slowdown(network, step_time)) + ", " +
                  std::to_string(network.slowed) + " of " + std::to_string(network.transfers) +
                  " transfers late");
  for (std::size_t i = 0; i < std::min(kShown, network.links.size()); ++i) {
    lines.push_back("  " + cut(printable(link_line(network.links[i])), style.width - 2));
  }
  if (network.links.size() > kShown) {
    lines.push_back("  and " + std::to_string(network.links.size() - kShown) +
                    " more links: see --json");
  }
  return lines;
}

void write_network(base::JsonWriter& json, const sim::NetworkResult& network, double step_time) {
  json.begin_object();
  json.field("alone_time_s", network.alone_time);
  json.field("slowdown", slowdown(network, step_time));
  json.field("transfers", network.transfers).field("slowed", network.slowed);
  json.key("links").begin_array();
  for (const sim::SharedLink& link : network.links) {
    json.begin_object().field("name", std::string_view(link.name));
    json.field("alike", static_cast<std::int64_t>(link.alike));
    json.field("bandwidth_bytes_per_s", link.bandwidth).field("moved_bytes", link.bytes);
    json.field("busy_s", link.busy).field("delay_s", link.delay);
    json.key("utilisation").begin_array(true);
    for (const double share : link.utilisation) json.value(share);
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

sim::NetworkResult read_network(base::Fields from) {
  sim::NetworkResult network;
  network.alone_time = from.number("alone_time_s", 0, kAny);
  from.number("slowdown", -1, kAny);  // follows from the two times
  network.transfers = from.integer("transfers", 0, kLargestCount);
  network.slowed = from.integer("slowed", 0, kLargestCount);
  std::size_t index = 0;
  for (const base::Value& item : from.list("links")) {
    base::Fields entry = from.view(item, "links." + std::to_string(index++));
    sim::SharedLink link;
    link.name = entry.text("name");
    link.alike = static_cast<std::uint32_t>(entry.integer("alike", 1, 2'000'000'000));
    link.bandwidth = entry.number("bandwidth_bytes_per_s", 0, kAny);
    link.bytes = entry.number("moved_bytes", 0, kAny);
    link.busy = entry.number("busy_s", 0, kAny);
    link.delay = entry.number("delay_s", 0, kAny);
    const auto& shares = entry.list("utilisation");
    if (shares.size() != link.utilisation.size()) {
      entry.fail("utilisation",
                 "has to have " + std::to_string(link.utilisation.size()) + " parts");
    }
    for (std::size_t b = 0; b < shares.size(); ++b) {
      link.utilisation[b] =
          base::parse_number(shares[b].text, entry.where(shares[b], "utilisation"), 0, kAny);
    }
    entry.done();
    network.links.push_back(std::move(link));
  }
  from.done();
  return network;
}

}  // namespace paceline::reports
