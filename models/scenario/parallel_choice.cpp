// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/message.hpp"
#include "models/scenario/context.hpp"
#include "models/scenario/read_parts.hpp"

/// `parallel` of a scenario or a module.
namespace paceline::models {
namespace {

using base::Fields;

constexpr int kMaxDegree = 1 << 22;

std::vector<std::string> read_order(Fields& fields) {
  const std::string text = fields.text("order", "tp-cp-ep-dp-pp");
  std::vector<std::string> order;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    order.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<std::string> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"}) {
    fields.fail("order", base::quote(text) + " must name tp, cp, ep, dp and pp once each",
                "for example tp-cp-ep-dp-pp, innermost first");
  }
  return order;
}

int degree(Fields& fields, std::string_view key) {
  return static_cast<int>(fields.integer(key, 1, kMaxDegree, 1));
}

/// Product of degrees, at most kMany: four of them can pass what 64 bits hold.
constexpr std::int64_t kMany = 1'000'000'000'000;
std::int64_t product(std::initializer_list<int> degrees) {
  std::int64_t product = 1;
  for (const int d : degrees) product = std::min(product * d, kMany);
  return product;
}
std::string count_text(std::int64_t count) {
  return count < kMany ? std::to_string(count) : "10^12 or more";
}

}  // namespace

Parallel detail::read_parallel(Fields fields, int devices) {
  Parallel p;
  p.tp = degree(fields, "tp");
  p.pp = degree(fields, "pp");
  p.cp = degree(fields, "cp");
  p.ep = degree(fields, "ep");
  p.etp = degree(fields, "etp");
  const std::int64_t replica = product({p.tp, p.pp, p.cp});
  if (fields.has("dp")) {
    p.dp = degree(fields, "dp");
    const std::int64_t world = product({p.tp, p.pp, p.cp, p.dp});
    if (world > devices) {
      fields.fail("dp",
                  "tp*pp*cp*dp needs " + count_text(world) + " devices, the cluster has " +
                      std::to_string(devices),
                  "more nodes or smaller degrees");
    }
  } else {
    if (replica > devices || devices % replica != 0) {
      fields.fail("tp",
                  "tp*pp*cp = " + count_text(replica) + " does not divide the " +
                      std::to_string(devices) + " devices of the cluster",
                  "change a degree or the number of nodes, or say dp");
    }
    p.dp = static_cast<int>(devices / replica);
  }
  p.order = read_order(fields);
  p.zero = static_cast<int>(fields.integer("zero", 0, 3, 0));
  p.shard = static_cast<int>(fields.integer("shard", 0, kMaxDegree, 0));
  if (p.shard > 0 && p.dp % p.shard != 0) {
    fields.fail("shard", std::to_string(p.shard) + " does not divide dp = " + std::to_string(p.dp));
  }
  if (p.shard > 0 && p.zero == 0) {
    fields.fail("shard", "means nothing without sharding",
                "set zero to 1, 2 or 3, or leave it out");
  }
  p.sequence_parallel = fields.flag("sequence_parallel", false);
  p.context = read_context(fields, p.cp);
  if (fields.has("stage_layers")) {
    for (const base::Value& item : fields.list("stage_layers")) {
      p.stage_layers.push_back(static_cast<int>(
          base::parse_integer(item.text, fields.where(item, "stage_layers"), 0, 1'000'000)));
    }
  }
  fields.done();
  return p;
}

}  // namespace paceline::models
