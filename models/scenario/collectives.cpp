// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/collectives.hpp"

#include <algorithm>
#include <filesystem>

#include "base/message.hpp"
#include "base/text.hpp"

namespace paceline::models {
namespace {

constexpr std::array<base::Named<CollectiveOp>, kCollectiveOps> kOps{
    {{"all_reduce", CollectiveOp::AllReduce},
     {"all_gather", CollectiveOp::AllGather},
     {"reduce_scatter", CollectiveOp::ReduceScatter},
     {"all_to_all", CollectiveOp::AllToAll},
     {"broadcast", CollectiveOp::Broadcast},
     {"send_recv", CollectiveOp::SendRecv},
     {"reduce", CollectiveOp::Reduce}}};
constexpr std::array<base::Named<unsigned>, 8> kAlgorithms{
    {{"ring", static_cast<unsigned>(CollectiveAlgorithm::Ring)},
     {"tree", static_cast<unsigned>(CollectiveAlgorithm::Tree)},
     {"nvls", static_cast<unsigned>(CollectiveAlgorithm::Nvls)},
     {"nvls-tree", static_cast<unsigned>(CollectiveAlgorithm::NvlsTree)},
     {"pat", static_cast<unsigned>(CollectiveAlgorithm::Pat)},
     {"collnet-direct", static_cast<unsigned>(CollectiveAlgorithm::CollNetDirect)},
     {"collnet-chain", static_cast<unsigned>(CollectiveAlgorithm::CollNetChain)},
     {"hierarchical", static_cast<unsigned>(CollectiveAlgorithm::Hierarchical)}}};
constexpr std::array<base::Named<unsigned>, 3> kProtocols{
    {{"ll", static_cast<unsigned>(CollectiveProtocol::LL)},
     {"ll128", static_cast<unsigned>(CollectiveProtocol::LL128)},
     {"simple", static_cast<unsigned>(CollectiveProtocol::Simple)}}};
constexpr std::array<base::Named<bool>, 2> kChoices{{{"fastest", false}, {"nccl", true}}};

constexpr std::size_t kMaxLogs = 64;

/// A bit per name; everything (`all`) when the key is absent.
unsigned read_mask(base::Fields& fields, std::string_view key,
                   std::span<const base::Named<unsigned>> names, unsigned all) {
  if (!fields.has(key)) return all;
  unsigned mask = 0;
  std::vector<std::string> known;
  for (const auto& [name, bit] : names) known.emplace_back(name);
  for (const std::string& text : fields.text_list(key)) {
    bool found = false;
    for (const auto& [name, bit] : names)
      if (name == text) {
        mask |= 1u << bit;
        found = true;
      }
    if (!found)
      fields.fail(key, "unknown " + base::quote(text), base::suggest(text, known, "one of"));
  }
  if (mask == 0) fields.fail(key, "is empty", "leave it out to allow all");
  return mask;
}

/// Naming a CollNet algorithm wants switches that reduce and a release that has it.
void check_collnet(base::Fields& fields, const Scenario& scenario) {
  if (!fields.has("algorithm")) return;
  for (const std::string& name : fields.text_list("algorithm")) {
    if (!name.starts_with("collnet-")) continue;
    if (!scenario.cluster.groups.front().network.sharp)
      fields.fail("algorithm", base::quote(name) + " needs a network whose switches reduce (SHARP)",
                  "say sharp: true of the InfiniBand link, as in cluster: {network: {spec: ndr400, "
                  "sharp: true}}, or leave it out");
    if (!nccl_release(scenario.stack.nccl).collnet)
      fields.fail("algorithm",
                  base::quote(name) + " is not modelled for NCCL " + scenario.stack.nccl,
                  "it is from 2.18 on");
  }
}

std::string path_in(const std::string& folder, const std::string& file) {
  const std::filesystem::path path(file);
  return path.is_absolute() ? file : (std::filesystem::path(folder) / path).string();
}

/// One item of `logs`: a file, or a map with what the log leaves out.
NcclLog read_log(base::Fields& fields, const base::Value& item, std::size_t index,
                 const std::string& folder) {
  NcclLogHints hints;
  const auto read = [&](const std::string& file) {
    const std::string path = path_in(folder, file);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) {
      throw base::Error(fields.where(item, "logs"), base::quote(path) + ": no such file",
                        "a log of nccl-tests, beside the scenario or with its whole path");
    }
    return read_nccl_log(path, hints);
  };
  if (item.kind == base::Value::Kind::Scalar) return read(item.text);
  base::Fields entry = fields.view(item, "logs." + std::to_string(index));
  const std::string file = entry.text("file");
  if (entry.has("op")) hints.op = entry.choice<CollectiveOp>("op", kOps);
  hints.ranks = static_cast<int>(entry.integer("ranks", 2, kMaxLogRanks, 0));
  hints.nodes = static_cast<int>(entry.integer("nodes", 1, kMaxLogRanks, 0));
  entry.done();
  return read(file);
}

/// Rows whose time is more than 15 % above that of a later, larger size: what a curve takes for
/// warm-up (curve.hpp).
std::size_t spikes_of(const NcclLog& log) {
  std::size_t spikes = 0;
  for (const NcclLogRow& row : log.rows) {
    spikes += std::any_of(log.rows.begin(), log.rows.end(), [&](const NcclLogRow& later) {
      return later.size > row.size && row.out_of_place.value > 1.15 * later.out_of_place.value;
    });
  }
  return spikes;
}

/// "all_reduce on 16 ranks of 2 nodes from ar.txt, 8 B to 1.00 GiB".
std::string log_text(const NcclLog& log) {
  base::Bytes low = log.rows.front().size, high = low;
  for (const NcclLogRow& row : log.rows) {
    low = std::min(low, row.size);
    high = std::max(high, row.size);
  }
  std::string text =
      std::string(to_text(log.op)) + " on " + std::to_string(log.ranks) + " ranks of " +
      std::to_string(log.nodes) + (log.nodes == 1 ? " node" : " nodes") + " measured in " +
      base::one_line(log.file) + ", " + base::format_bytes(low) + " to " + base::format_bytes(high);
  if (!log.nccl.empty()) text += ", NCCL " + log.nccl;
  if (const std::size_t spikes = spikes_of(log); spikes > 0)
    text += "; " + std::to_string(spikes) + " of " + std::to_string(log.rows.size()) +
            " times are above a later one and taken for warm-up";
  for (const std::string& note : log.notes)
    if (note.find("stated") != std::string::npos || note.find("named") != std::string::npos)
      text += "; " + note;
  return text;
}

/// One more log of the cluster; where it is of no group there, base::Error.
void add_log(CollectiveLogs& logs, NcclLog log, Scenario& scenario, const std::string& where) {
  const CollectiveSettings& c = scenario.collectives;
  CollectiveGroup settings;
  settings.algorithms = c.algorithms;
  settings.protocols = c.protocols;
  settings.tuner = c.tuner;
  logs.logs.push_back(place_log(std::move(log), scenario.cluster, settings,
                                nccl_release(scenario.stack.nccl), where));
  scenario.assumptions.push_back(log_text(logs.logs.back().log));
}

void read_logs(base::Fields& fields, const std::string& folder, Scenario& scenario,
               CollectiveLogs& logs) {
  const bool one = fields.at("logs").kind == base::Value::Kind::Scalar;
  const std::vector<base::Value> items =
      one ? std::vector<base::Value>{fields.at("logs")} : fields.list("logs");
  if (items.size() > kMaxLogs)
    fields.fail("logs", "has more than " + std::to_string(kMaxLogs) + " files");
  for (std::size_t i = 0; i < items.size(); ++i) {
    add_log(logs, read_log(fields, items[i], i, folder), scenario, fields.where(items[i], "logs"));
    const NcclLog& log = logs.logs.back().log;
    if (const std::size_t spikes = spikes_of(log); 2 * spikes > log.rows.size())
      throw base::Error(base::one_line(log.file),
                        std::to_string(spikes) + " of " + std::to_string(log.rows.size()) +
                            " times are above that of a larger size: no curve fits them",
                        "measure again, with warm-up iterations");
  }
}

/// What the profile's devices measured, after what the user names; left out where the cluster has
/// no such group.
void add_measured(Scenario& scenario, CollectiveLogs& logs) {
  const Profile& profile = scenario.profiles.front();
  const NodeGroup& node = scenario.cluster.groups.front();
  for (const MeasuredCollective& measured : profile.collectives) {
    const bool fits = measured.ranks % measured.nodes == 0 &&
                      measured.ranks / measured.nodes <= node.devices_per_node &&
                      (measured.nodes == 1 || node.ports_per_node > 0);
    if (!fits) continue;
    NcclLog log;
    log.file = "profile " + profile.name;
    log.op = measured.op;
    log.ranks = measured.ranks;
    log.nodes = measured.nodes;
    for (const CurvePoint& p : measured.points)
      log.rows.push_back({base::Bytes(p.x), base::Seconds(p.y), {}, -1, 0});
    add_log(logs, std::move(log), scenario, "profile " + profile.name);
  }
}

}  // namespace

void read_collectives(base::Fields* fields, const std::string& folder, Scenario& scenario) {
  CollectiveSettings& c = scenario.collectives;
  auto logs = std::make_shared<CollectiveLogs>();
  if (fields != nullptr) {
    c.algorithms = read_mask(*fields, "algorithm", kAlgorithms, kNcclAlgorithms);
    check_collnet(*fields, scenario);
    c.protocols = read_mask(*fields, "protocol", kProtocols, ~0u);
    c.tuner = fields->choice<bool>("choice", kChoices, false);
    if (fields->has("logs")) read_logs(*fields, folder, scenario, *logs);
    fields->done();
  }
  add_measured(scenario, *logs);
  if (!logs->logs.empty()) c.logs = std::move(logs);
}

}  // namespace paceline::models
