// SPDX-License-Identifier: Apache-2.0
#include "models/outer/outer.hpp"

#include <algorithm>
#include <numeric>

#include "base/table.hpp"

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

void read_codec(base::Fields& fields, OuterChoice& outer) {
  base::Fields codec = fields.map("codec");
  outer.codec = &codec_named(codec.text("name"), codec.where("name"));
  outer.codec_settings = read_codec_settings(*outer.codec, codec);
  outer.codec_settings.workers = outer.workers;
  codec.done();
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

}  // namespace

OuterChoice read_outer(base::Fields fields) {
  OuterChoice outer;
  outer.method =
      &base::find(outer_methods(), fields.text("method"), fields.where("method"), "outer method");
  outer.workers = static_cast<int>(fields.integer("workers", 1, kMostWorkers));
  read_rhythm(fields, outer);
  outer.exchange =
      fields.choice<OuterExchange>("exchange", kOuterExchanges, outer.method->exchange);
  if (fields.has("codec")) read_codec(fields, outer);
  outer.element_bits = fields.number("element_bits", 0.01, 64, 16);
  outer.bandwidth = fields.rate("bandwidth");
  if (outer.bandwidth.value <= 0)
    fields.fail("bandwidth", "is not above 0", "of a worker's link, for example 1 Gb/s");
  outer.latency = fields.seconds("latency", base::Seconds(0));
  if (fields.has("slowness")) outer.slowness = read_slowness(fields, outer.workers);
  fields.done();
  return outer;
}

}  // namespace paceline::models
