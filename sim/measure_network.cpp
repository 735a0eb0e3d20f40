// SPDX-License-Identifier: Apache-2.0
#include "sim/measure_network.hpp"

#include <algorithm>
#include <utility>

namespace paceline::sim {
namespace {

/// Shorter than any delay that is not rounding.
constexpr double kRounding = 1e-9;

/// Seconds during which at least one of the spans runs.
double covered(std::vector<std::pair<double, double>> spans) {
  std::sort(spans.begin(), spans.end());
  double sum = 0, until = 0;
  for (const auto& [start, finish] : spans) {
    sum += std::max(0.0, finish - std::max(start, until));
    until = std::max(until, finish);
  }
  return sum;
}

/// Adds `rate` between two times to the bins they cover, as a share of `full`.
void add_rate(std::array<double, SharedLink::kBins>& bins, double start, double finish,
              double share, double makespan) {
  const double width = makespan / SharedLink::kBins;
  for (std::size_t b = 0; b < bins.size(); ++b) {
    const double low = static_cast<double>(b) * width;
    const double inside = std::min(finish, low + width) - std::max(start, low);
    if (inside > 0) bins[b] += share * inside / width;
  }
}

/// Share of what the link carries at its narrowest that it was asked for while in use.
double fullness(const SharedLink& link, const NetworkLink& wire) {
  double narrowest = wire.bandwidth;
  for (const NetworkLink::Change& change : wire.changes) {
    if (change.bandwidth > 0) narrowest = std::min(narrowest, change.bandwidth);
  }
  return link.busy > 0 ? link.bytes / narrowest / link.busy : 0;
}

void blame_links(const TaskGraph& graph, const Timeline& timeline, std::vector<SharedLink>& links) {
  std::vector<double> full;
  for (std::size_t l = 0; l < links.size(); ++l) {
    full.push_back(fullness(links[l], graph.network.links[l]));
  }
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Transfer* transfer = graph.network.transfer(t);
    if (transfer == nullptr || transfer->uses.empty()) continue;
    const double late = timeline.finish[t] - timeline.start[t] - graph.tasks[t].seconds;
    if (late <= kRounding) continue;
    const auto worst = std::max_element(
        transfer->uses.begin(), transfer->uses.end(),
        [&](const LinkUse& a, const LinkUse& b) { return full[a.link] < full[b.link]; });
    links[worst->link].delay += late;
  }
}

}  // namespace

NetworkResult measure_network(const TaskGraph& graph, const Timeline& timeline, double alone) {
  const Network& network = graph.network;
  NetworkResult result;
  result.alone_time = alone;
  std::vector<SharedLink> links(network.links.size());
  std::vector<std::vector<std::pair<double, double>>> spans(links.size());
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Transfer* transfer = network.transfer(t);
    if (transfer == nullptr || transfer->bytes <= 0) continue;
    const double start = timeline.start[t] + transfer->latency, finish = timeline.finish[t];
    const double late = finish - timeline.start[t] - graph.tasks[t].seconds;
    ++result.transfers;
    if (late > kRounding) ++result.slowed;
    for (const LinkUse& use : transfer->uses) {
      SharedLink& link = links[use.link];
      const double bytes = transfer->bytes * use.flows;
      link.bytes += bytes;
      spans[use.link].emplace_back(start, finish);
      if (finish <= start) continue;
      add_rate(link.utilisation, start, finish,
               bytes / (finish - start) / network.links[use.link].bandwidth, timeline.makespan);
    }
  }
  for (std::size_t l = 0; l < links.size(); ++l) {
    links[l].name = network.links[l].name;
    links[l].alike = network.links[l].alike;
    links[l].bandwidth = network.links[l].bandwidth;
    links[l].busy = covered(std::move(spans[l]));
  }
  blame_links(graph, timeline, links);
  for (SharedLink& link : links) {
    if (link.delay > 0) result.links.push_back(std::move(link));
  }
  std::stable_sort(result.links.begin(), result.links.end(),
                   [](const SharedLink& a, const SharedLink& b) { return a.delay > b.delay; });
  return result;
}

}  // namespace paceline::sim
