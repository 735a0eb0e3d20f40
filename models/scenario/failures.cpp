// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/failures.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/message.hpp"
#include "base/table.hpp"
#include "models/hardware/device.hpp"
#include "models/hardware/site_layout.hpp"
#include "models/scenario/failure_trace.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {
namespace {

constexpr std::array<base::Named<CheckpointMode>, 4> kModes{
    {{"blocking", CheckpointMode::Blocking},
     {"background", CheckpointMode::Background},
     {"lazy", CheckpointMode::Lazy},
     {"memory", CheckpointMode::Memory}}};
constexpr std::array<base::Named<bool>, 2> kMigrations{{{"blocking", false}, {"beside", true}}};

constexpr std::array<RecoveryPolicy, 5> kPolicies{{
#define PACELINE_RECOVERY(function, name, traits, summary) {name, summary, traits},
#include "models/scenario/recoveries.def"
#undef PACELINE_RECOVERY
}};

/// 0 where the key is missing; a time above 0 otherwise.
double time_above_zero(base::Fields& fields, const char* key, const char* example) {
  if (!fields.has(key)) return 0;
  const double seconds = fields.seconds(key).value;
  if (seconds <= 0) fields.fail(key, "is not above 0", std::string("for example ") + example);
  return seconds;
}
double needed_time(base::Fields& fields, const char* key, const char* example) {
  fields.at(key);
  return time_above_zero(fields, key, example);
}

/// Keys that say more of something that does not happen.
void refuse_without(base::Fields& fields, const char* thing, bool happens,
                    std::initializer_list<const char*> keys) {
  if (happens) return;
  for (const char* key : keys)
    if (fields.has(key))
      fields.fail(key, std::string("means nothing without ") + thing, "leave it out");
}

void read_checkpoints(base::Fields fields, FailureSettings& f) {
  f.mode = fields.choice<CheckpointMode>("mode", kModes, f.mode);
  f.every = time_above_zero(fields, "every", "30 min; without it Daly's optimum is taken");
  if (f.mode != CheckpointMode::Memory) {
    f.storage = fields.rate("storage").value;
    if (f.storage <= 0)
      fields.fail("storage", "is not above 0", "what it takes from the whole job: 100 GB/s");
  } else if (fields.has("storage")) {
    fields.fail("storage", "means nothing with mode: memory", "mode: blocking or background");
  }
  const bool buffers = f.mode == CheckpointMode::Background || f.mode == CheckpointMode::Lazy;
  refuse_without(fields, "mode: background or lazy", buffers, {"buffer"});
  if (fields.has("buffer")) {
    f.buffer = fields.bytes("buffer").value;
    if (f.buffer <= 0) fields.fail("buffer", "is not above 0", "of a node, for example 128 GiB");
  }
  fields.done();
}

bool traces(const FailureSettings& f, FailureKind kind) {
  for (const FailureEvent& event : f.trace)
    if (event.kind == kind) return true;
  return false;
}

void read_links(base::Fields& fields, const Cluster& cluster, FailureSettings& f) {
  f.link_mtbf = time_above_zero(fields, "link_mtbf", "10000 h");
  if (f.link_mtbf > 0 && cluster.groups.front().ports_per_node == 0)
    fields.fail("link_mtbf", "there are no links between nodes", "a cluster with a network");
  const bool happens = f.link_mtbf > 0 || traces(f, FailureKind::Link);
  refuse_without(fields, "link_mtbf", happens, {"link_flap", "link_timeout"});
  if (!happens) return;
  f.link_flap = needed_time(fields, "link_flap", "30 s that a link is down");
  f.link_timeout = time_above_zero(fields, "link_timeout", "10 min");
}

void read_sites(base::Fields& fields, const Cluster& cluster, FailureSettings& f) {
  f.site_mtbf = time_above_zero(fields, "site_mtbf", "2000 h");
  if (f.site_mtbf > 0 && !has_sites(cluster))
    fields.fail("site_mtbf", "the cluster has no sites", "cluster.fabric of kind sites");
  const bool happens = f.site_mtbf > 0 || traces(f, FailureKind::Site);
  refuse_without(fields, "site_mtbf", happens, {"site_outage"});
  if (happens) f.site_outage = needed_time(fields, "site_outage", "4 h that a site is away");
}

void read_slow_nodes(base::Fields& fields, std::string_view not_whole, FailureSettings& f) {
  f.slow_mtbf = time_above_zero(fields, "slow_mtbf", "2000 h");
  const bool happens = f.slow_mtbf > 0 || traces(f, FailureKind::Slow);
  refuse_without(fields, "slow_mtbf", happens, {"slow_factor", "slow_for", "slow_notice"});
  if (!happens) return;
  if (!not_whole.empty())
    fields.fail("slow_mtbf", "slow nodes do not go with " + std::string(not_whole), "leave it out");
  f.slow_factor = fields.number("slow_factor", 1, 1000);
  f.slow_for = needed_time(fields, "slow_for", "2 h");
  f.slow_notice = time_above_zero(fields, "slow_notice", "30 min");
}

void read_spot(base::Fields& fields, FailureSettings& f) {
  if (!fields.has("spot")) {
    if (traces(f, FailureKind::Spot))
      fields.fail("spot", "is missing, but the trace takes nodes away",
                  "spot: {back: 20 min}, what it says of them");
    return;
  }
  base::Fields spot = fields.map("spot");
  f.spot_mtbf = time_above_zero(spot, "mtbf", "8 h that a node is kept");
  if (f.spot_mtbf <= 0 && !traces(f, FailureKind::Spot))
    spot.fail("mtbf", "is missing", "for example 8 h that a node is kept");
  f.spot_back = needed_time(spot, "back", "20 min until another node comes");
  f.spot_notice = time_above_zero(spot, "notice", "2 min");
  spot.done();
}

/// Going on with fewer nodes asks something of the layout.
void check_policy(const base::Fields& fields, const FailurePlaces& places, FailureSettings& f) {
  const RecoveryTraits& traits = f.recovery->traits;
  const std::string name(f.recovery->name);
  const Parallel& p = places.parallel;
  if (!traits.goes_on) return;
  if (!places.not_whole.empty())
    fields.fail("recovery", name + " does not go with " + std::string(places.not_whole),
                "recovery: restart or spares");
  if (p.dp < 2)
    fields.fail("recovery", name + " needs another replica, and dp is 1",
                "dp above 1, or recovery: restart or spares");
  if (p.ep > 1)
    fields.fail("recovery",
                name + " needs every expert in several replicas, and ep is " + std::to_string(p.ep),
                "ep: 1, or recovery: restart or spares");
  if (traits.needs_copies && p.zero > 0 && (p.shard == 0 || p.shard == p.dp))
    fields.fail("recovery",
                name + " needs all states in other replicas, and zero deals them over all of dp",
                "zero: 0, a shard below dp, or recovery: elastic");
}

void read_recovery(base::Fields& fields, const FailurePlaces& places, FailureSettings& f) {
  const base::Value* value = fields.find("recovery");
  const bool map = value != nullptr && value->kind == base::Value::Kind::Map;
  std::optional<base::Fields> inner;
  if (map) inner.emplace(fields.map("recovery"));
  base::Fields& from = map ? *inner : fields;
  const char* key = map ? "policy" : "recovery";
  const std::string name = value == nullptr ? "restart" : from.text(key);
  f.recovery = &base::find(recovery_policies(), name, from.where(key), "recovery");
  check_policy(fields, places, f);
  const RecoveryTraits& traits = f.recovery->traits;
  f.edit = traits.edit;
  f.repair = time_above_zero(fields, "repair", "12 h until a node that failed is back");
  if (traits.takes_spares) {
    if (!map) fields.fail("recovery", "spares without a number", "{policy: spares, spares: 4}");
    f.spares = static_cast<int>(inner->integer("spares", 1, kMaxDevices));
  }
  const bool away = f.device_mtbf > 0 || f.node_mtbf > 0 || traces(f, FailureKind::Device) ||
                    traces(f, FailureKind::Node);
  if ((traits.takes_spares || traits.goes_on) && away && f.repair <= 0)
    fields.fail("repair", "is missing: " + name + " must know when a node is back",
                "for example 12 h");
  if (!map) return;
  if (traits.goes_on) f.edit = inner->seconds("edit", base::Seconds(traits.edit)).value;
  if (traits.migrates) f.migrates_beside = inner->choice<bool>("migration", kMigrations, false);
  inner->done();
}

void read_failures_trace(base::Fields& fields, const FailurePlaces& places, FailureSettings& f) {
  if (!fields.has("trace")) return;
  const std::filesystem::path file(fields.text("trace"));
  const std::string path = (file.is_absolute() ? file : places.folder / file).string();
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (!std::filesystem::is_regular_file(status))
    fields.fail("trace",
                base::quote(path) + (std::filesystem::is_directory(status) ? ": is a folder"
                                     : std::filesystem::exists(status)
                                         ? ": is a device or pipe, not a regular file"
                                         : ": no such file"),
                "a table of time, kind, part and duration, beside the scenario");
  MissingKeys missing{};
  constexpr std::array<std::pair<FailureKind, std::string_view>, 5> kNeeds{
      {{FailureKind::Link, "link_flap"},
       {FailureKind::Site, "site_outage"},
       {FailureKind::Slow, "slow_for"},
       {FailureKind::Slow, "slow_factor"},
       {FailureKind::Spot, "spot"}}};
  for (const auto& [kind, key] : kNeeds)
    if (!fields.has(key)) missing[static_cast<std::size_t>(kind)] = key;
  f.trace = read_failure_trace(path, places.cluster, missing);
}

}  // namespace

std::span<const RecoveryPolicy> recovery_policies() { return kPolicies; }

FailureSettings read_failures(base::Fields fields, const FailurePlaces& places) {
  FailureSettings f;
  read_failures_trace(fields, places, f);
  f.device_mtbf = time_above_zero(fields, "device_mtbf", "50000 h");
  f.node_mtbf = time_above_zero(fields, "node_mtbf", "20000 h");
  f.job_mtbf = time_above_zero(fields, "job_mtbf", "24 h");
  read_links(fields, places.cluster, f);
  read_sites(fields, places.cluster, f);
  read_slow_nodes(fields, places.not_whole, f);
  read_spot(fields, f);
  const double any = f.device_mtbf + f.node_mtbf + f.job_mtbf + f.link_mtbf + f.site_mtbf +
                     f.slow_mtbf + f.spot_mtbf;
  if (any <= 0 && f.trace.empty())
    fields.fail("device_mtbf", "nothing fails: no mean time between failures",
                "device_mtbf, node_mtbf or job_mtbf");
  f.shape = fields.number("shape", 0.1, 10, f.shape);
  f.detect = fields.seconds("detect", base::Seconds(0)).value;
  f.restart = fields.seconds("restart").value;
  if (f.restart <= 0) fields.fail("restart", "is not above 0", "for example 5 min");
  read_recovery(fields, places, f);
  read_checkpoints(fields.map("checkpoints"), f);
  f.runs = static_cast<int>(fields.integer("runs", 10, 20'000, f.runs));
  f.seed = static_cast<std::uint64_t>(fields.integer("seed", 0, 1'000'000'000, 1));
  fields.done();
  return f;
}

void check_memory_copies(const Scenario& s) {
  const FailureSettings& f = *s.failures;
  if (f.mode != CheckpointMode::Memory) return;
  const auto fails = [&](double mtbf, FailureKind kind) { return mtbf > 0 || traces(f, kind); };
  const auto refuse = [&](const std::string& only) {
    throw base::Error(where(s, "failures.checkpoints.mode"),
                      "memory: the copy is lost with the only " + only + " of the job",
                      "mode: blocking or background, with a storage");
  };
  const bool site = fails(f.site_mtbf, FailureKind::Site);
  const bool node = site || fails(f.node_mtbf, FailureKind::Node) ||
                    fails(f.spot_mtbf, FailureKind::Spot) || f.slow_notice > 0 ||
                    (f.repair > 0 && fails(f.device_mtbf, FailureKind::Device));
  const int nodes = used_nodes(s);
  if (node && nodes <= 1) refuse("node");
  if (site && has_sites(s.cluster) && s.cluster.fabric.sites.front().nodes >= nodes) refuse("site");
}

}  // namespace paceline::models
