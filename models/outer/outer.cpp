// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

#include <algorithm>
#include <numeric>

#include "base/message.hpp"
#include "base/table.hpp"
#include "models/hardware/site_layout.hpp"

namespace paceline::models {

#define PACELINE_OUTER(name) OuterMethod name##_method();
#include "models/outer/methods.def"
#undef PACELINE_OUTER

const std::vector<OuterMethod>& outer_methods() {
  static const std::vector<OuterMethod> all{
#define PACELINE_OUTER(name) name##_method(),
#include "models/outer/methods.def"
#undef PACELINE_OUTER
  };
  return all;
}

std::vector<int> all_layers(int count) {
  std::vector<int> layers(static_cast<std::size_t>(count));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

namespace {

constexpr int kMostWorkers = 1 << 20, kMostSteps = 1'000'000'000;

std::vector<double> read_slowness(base::Fields& fields, int workers) {
  std::vector<double> slowness;
  for (const base::Value& item : fields.list("slowness"))
    slowness.push_back(base::parse_number(item.text, fields.where(item, "slowness"), 1e-3, 1e6));
  if (slowness.size() == static_cast<std::size_t>(workers)) return slowness;
  fields.fail("slowness", "has " + std::to_string(slowness.size()) + " entries",
              "one for each of the " + std::to_string(workers) + " workers");
}

/// A name, or a map with the options beside it.
void read_codec(base::Fields& fields, OuterChoice& outer) {
  if (fields.at("codec").kind == base::Value::Kind::Scalar) {
    outer.codec = &codec_named(fields.text("codec"), fields.where("codec"));
  } else {
    base::Fields codec = fields.map("codec");
    outer.codec = &codec_named(codec.text("name"), codec.where("name"));
    outer.codec_settings = read_codec_settings(*outer.codec, codec);
    codec.done();
  }
  outer.codec_settings.workers = outer.workers;
  if (fields.has("element_bits"))
    fields.fail("element_bits", "means nothing beside a codec", "leave one of them out");
}

void read_rhythm(base::Fields& fields, OuterChoice& outer) {
  const auto takes = [&](std::string_view key) {
    const auto& keys = outer.method->keys;
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const std::string_view key : {"inner_steps", "fragments", "overlap", "blocking"}) {
    if (fields.has(key) && !takes(key))
      fields.fail(key, "means nothing with method " + std::string(outer.method->name),
                  "leave it out");
  }
  const auto count = [&](std::string_view key, int low, int otherwise) {
    if (!takes(key)) return otherwise;
    return static_cast<int>(fields.integer(key, low, kMostSteps, otherwise));
  };
  outer.inner_steps = count("inner_steps", 1, takes("inner_steps") ? 100 : 1);
  outer.fragments = count("fragments", 1, takes("fragments") ? 3 : 1);
  outer.overlap = count("overlap", 0, 0);
  if (takes("blocking")) outer.blocking = fields.number("blocking", 0, 1, 1);
  if (outer.fragments > outer.inner_steps) {
    fields.fail("fragments",
                std::to_string(outer.fragments) + " fragments in rounds of " +
                    std::to_string(outer.inner_steps) + " steps",
                "at most one fragment per inner step");
  }
}

/// Sites by name, nearest choice in the error.
int site_named(base::Fields& fields, std::string_view key, const std::string& name,
               const Cluster& cluster) {
  std::vector<std::string> names;
  for (const SiteSpec& site : cluster.fabric.sites) {
    if (site.nodes == 0) break;
    if (site.name == name) return static_cast<int>(names.size());
    names.push_back(site.name);
  }
  fields.fail(key, "unknown site " + base::quote(name), base::suggest(name, names, "one of"));
}

constexpr int kMostRounds = 100'000;

OuterOutage read_outage(base::Fields fields, const OuterChoice& outer, const Cluster& cluster) {
  OuterOutage outage;
  if (fields.has("worker") == fields.has("link"))
    fields.fail("worker", fields.has("link") ? "stands beside link" : "is missing",
                "give worker: 3, or link: [A, B]");
  if (fields.has("worker")) {
    outage.worker = static_cast<int>(fields.integer("worker", 0, outer.workers - 1));
  } else {
    const std::vector<std::string> ends = fields.text_list("link");
    if (outer.bandwidth.value > 0 || ends.size() != 2)
      fields.fail("link", "must name two sites of the cluster's fabric", "for example [A, B]");
    outage.from = site_named(fields, "link", ends[0], cluster);
    outage.to = site_named(fields, "link", ends[1], cluster);
  }
  const auto& items = fields.list("rounds");
  if (items.size() != 2) fields.fail("rounds", "must be two numbers", "for example [10, 20]");
  const auto number = [&](const base::Value& item, int low) {
    return static_cast<int>(
        base::parse_integer(item.text, fields.where(item, "rounds"), low, kMostRounds));
  };
  outage.first = number(items[0], 1);
  outage.last = number(items[1], outage.first);
  fields.done();
  return outage;
}

void read_losses(base::Fields& fields, const Cluster& cluster, OuterChoice& outer) {
  outer.lost = fields.number("lost", 0, 1, 0);
  if (fields.has("outages")) {
    const auto& items = fields.list("outages");
    for (std::size_t i = 0; i < items.size(); ++i)
      outer.outages.push_back(
          read_outage(fields.view(items[i], "outages." + std::to_string(i)), outer, cluster));
  }
  for (const std::string_view key : {"seed", "rounds"}) {
    if (fields.has(key) && !outer.varies())
      fields.fail(key, "means nothing where all rounds are alike", "leave it out");
  }
  outer.seed = static_cast<std::uint64_t>(fields.integer("seed", 0, std::int64_t{1} << 53, 1));
  outer.rounds = static_cast<int>(fields.integer("rounds", 1, kMostRounds, outer.rounds));
  for (const OuterOutage& outage : outer.outages) {
    if (outage.last > outer.rounds)
      fields.fail("outages", "end after round " + std::to_string(outer.rounds),
                  "more rounds, or an earlier end");
  }
}

void check_places(const base::Fields& fields, const OuterChoice& outer, const Cluster& cluster,
                  int devices) {
  const auto needed = std::int64_t{outer.workers} * devices;
  if (needed > cluster.devices())
    fields.fail("workers",
                std::to_string(outer.workers) + " workers of " + std::to_string(devices) +
                    " devices on " + std::to_string(cluster.devices()) + " devices",
                "fewer workers, more nodes, or bandwidth: each worker is then a cluster");
  for (int w = 0; w < outer.workers; ++w) {
    const auto sites = members_by_site(cluster, w * devices, 1, devices);
    if (sites.size() > 1)
      fields.fail("workers", "worker " + std::to_string(w) + " lies on several sites",
                  "nodes of a site that workers of " + std::to_string(devices) + " devices divide");
  }
}

}  // namespace

std::vector<int> worker_sites(const OuterChoice& outer, const Cluster& cluster, int devices) {
  std::vector<int> sites;
  for (int w = 0; w < outer.workers; ++w)
    sites.push_back(
        static_cast<int>(members_by_site(cluster, w * devices, 1, devices).front().site));
  return sites;
}

OuterChoice read_outer(base::Fields fields, const Cluster& cluster, int devices) {
  OuterChoice outer;
  outer.method =
      &base::find(outer_methods(), fields.text("method"), fields.where("method"), "outer method");
  outer.workers = static_cast<int>(fields.integer("workers", 1, kMostWorkers));
  read_rhythm(fields, outer);
  outer.exchange =
      fields.choice<OuterExchange>("exchange", kOuterExchanges, outer.method->exchange);
  if (fields.has("codec")) read_codec(fields, outer);
  outer.element_bits = fields.number("element_bits", 0.01, 64, 16);
  if (fields.has("bandwidth") || !has_sites(cluster)) {
    outer.bandwidth = fields.rate("bandwidth");
    if (outer.bandwidth.value <= 0)
      fields.fail("bandwidth", "is not above 0", "of a worker's link, for example 1 Gb/s");
    outer.latency = fields.seconds("latency", base::Seconds(0));
  } else {
    if (fields.has("latency"))
      fields.fail("latency", "means nothing without bandwidth", "the cluster's links have theirs");
    check_places(fields, outer, cluster, devices);
    if (fields.has("server"))
      outer.server = site_named(fields, "server", fields.text("server"), cluster);
  }
  read_losses(fields, cluster, outer);
  if (fields.has("slowness")) outer.slowness = read_slowness(fields, outer.workers);
  fields.done();
  return outer;
}

}  // namespace paceline::models
