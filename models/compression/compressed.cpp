// SPDX-License-Identifier: Apache-2.0
#include "models/compression/compressed.hpp"

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "models/cost/collnet.hpp"

namespace paceline::models {
namespace {

constexpr std::array<base::Named<CompressedLinks>, 2> kLinks{
    {{"all", CompressedLinks::All}, {"inter-node", CompressedLinks::InterNode}}};
const std::vector<std::string> kGroups{"dp", "pp", "tp", "cp", "ep"};

/// `[first, last]`, or `[first]` where `open` says what comes last then.
std::optional<RuleRange> read_range(base::Fields& fields, std::string_view key, RuleRange all,
                                    bool open, const char* example) {
  if (!fields.has(key)) return std::nullopt;
  const auto& items = fields.list(key);
  if (items.empty() || items.size() > 2 || (items.size() == 1 && !open))
    fields.fail(key, "has " + std::to_string(items.size()) + " numbers", example);
  const auto number = [&](const base::Value& item) {
    return base::parse_integer(item.text, fields.where(item, std::string(key)), all.first,
                               all.last);
  };
  RuleRange range{number(items[0]), all.last};
  if (items.size() == 2) range.last = number(items[1]);
  if (range.last < range.first) fields.fail(key, "ends before it begins", example);
  return range;
}

CompressionRule read_rule(base::Fields fields, std::int64_t layers) {
  CompressionRule rule;
  rule.group = fields.text("group");
  if (std::find(kGroups.begin(), kGroups.end(), rule.group) == kGroups.end())
    fields.fail("group", base::quote(rule.group) + " is no group that codecs are known for",
                base::suggest(rule.group, kGroups, "one of"));
  rule.codec = &codec_named(fields.text("codec"), fields.where("codec"));
  rule.settings = read_codec_settings(*rule.codec, fields);
  rule.links = fields.choice<CompressedLinks>("links", kLinks, CompressedLinks::All);
  rule.layers = read_range(fields, "layers", {0, layers - 1}, false,
                           "the first and the last layer, from 0: [0, 15]");
  rule.steps = read_range(fields, "steps", {1, kEndless}, true,
                          "the first and the last step, from 1: [1, 1000], or [1001] to the end");
  fields.done();
  return rule;
}

/// The wire of one rank through one or two collectives.
struct Wire {
  base::Seconds time;
  base::Bytes sent;
};
Wire over(CollectiveOp op, double bytes, const CollectiveGroup& group, const NcclRelease& release) {
  const CollectiveChoice choice = collective_time(op, base::Bytes(bytes), group, release);
  return {choice.time, bytes_sent(op, choice.algorithm, base::Bytes(bytes), group)};
}
Wire operator+(const Wire& a, const Wire& b) { return {a.time + b.time, a.sent + b.sent}; }

Wire wire_of(CollectiveOp op, const Encoded& e, const CollectiveGroup& group,
             const NcclRelease& release) {
  const bool reduces = op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter;
  if (!reduces || e.sum == CodecSum::Values) return over(op, e.wire_bytes, group, release);
  if (op == CollectiveOp::ReduceScatter)
    return over(CollectiveOp::AllToAll, e.wire_bytes, group, release);
  if (e.sum == CodecSum::Gathered)
    return over(CollectiveOp::AllGather, e.wire_bytes * group.ranks, group, release);
  return over(CollectiveOp::AllToAll, e.wire_bytes, group, release) +
         over(CollectiveOp::AllGather, e.wire_bytes, group, release);
}

}  // namespace

std::vector<CompressionRule> read_compression(base::Fields& fields, std::int64_t layers) {
  std::vector<CompressionRule> rules;
  if (!fields.has("compression")) return rules;
  for (const base::Value& item : fields.list("compression"))
    rules.push_back(
        read_rule(fields.view(item, "compression." + std::to_string(rules.size())), layers));
  return rules;
}

const CompressionRule* rule_for(const std::vector<CompressionRule>& rules, std::string_view group,
                                const CollectiveGroup& ranks, std::int64_t layer) {
  if (ranks.ranks <= 1) return nullptr;
  for (const CompressionRule& rule : rules) {
    if (rule.group != group || (rule.layers && !rule.layers->holds(layer))) continue;
    if (rule.links == CompressedLinks::InterNode && ranks.domains <= 1) continue;
    return &rule;
  }
  return nullptr;
}

bool rules_by_layer(const std::vector<CompressionRule>& rules, std::string_view group) {
  return std::any_of(rules.begin(), rules.end(), [&](const CompressionRule& rule) {
    return rule.group == group && rule.layers;
  });
}

CompressedTime compressed_time(CollectiveOp op, const CompressionRule& rule,
                               const CodecTensor& tensor, const CollectiveGroup& group,
                               const NcclRelease& release, const KernelModel& kernels) {
  CodecSettings settings = rule.settings;
  settings.workers = group.ranks;
  const Encoded e = rule.codec->encoded(settings, tensor);
  const Wire wire = wire_of(op, e, group, release);
  const base::Seconds encode = codec_time(kernels, e.encode);
  const base::Seconds decode = codec_time(kernels, e.decode);
  const double part = 1.0 / group.ranks;
  CompressedTime t;
  t.wire = wire.time;
  t.sent = wire.sent;
  t.encode = op == CollectiveOp::AllGather ? encode * part : encode;
  t.decode = decode;
  if (op == CollectiveOp::AllReduce && e.sum == CodecSum::Exchanged)
    t.decode += decode + encode * part;
  if (op == CollectiveOp::AllReduce && e.sum == CodecSum::Gathered) t.decode = decode * group.ranks;
  t.aside = codec_time(kernels, e.aside);
  t.state = base::Bytes(e.state_bytes);
  return t;
}

}  // namespace paceline::models
