// SPDX-License-Identifier: Apache-2.0
#include "sim/search/space.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "models/scenario/context.hpp"
#include "models/scenario/resolved.hpp"
#include "models/workload/moe_ops.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim {
namespace {

using models::OptimizerDevice;
using models::Recompute;
using models::Scenario;

std::vector<int> divisors(std::int64_t n, std::int64_t most) {
  std::vector<int> out;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) out.push_back(static_cast<int>(d));
  return out;
}

std::string joined(const std::vector<std::string>& order) {
  std::string text;
  for (const std::string& axis : order) text += (text.empty() ? "" : "-") + axis;
  return text;
}

/// Schedules whose step ends with a flush and that need nothing the scenario does not say.
std::vector<std::string> flushing_schedules() {
  std::vector<std::string> names;
  for (const Schedule& schedule : schedules()) {
    const models::ScheduleTraits& traits = *models::schedule_traits(schedule.name);
    constexpr std::uint32_t kOwn = models::kTakesSlices | models::kTakesSkip | models::kTakesPools;
    constexpr std::array<std::string_view, 7> kOthers{
        "forward-only", "roundpipe", "januspipe", "vocab-1", "vocab-2", "interlaced", "pulse"};
    const bool other = std::find(kOthers.begin(), kOthers.end(), schedule.name) != kOthers.end();
    if (!traits.asynchronous && (traits.takes & kOwn) == 0 && !other)
      names.emplace_back(schedule.name);
  }
  return names;
}

template <class T>
void add_once(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

RecomputeWay way_of(const Scenario& s) {
  if (s.recompute != Recompute::Blockwise) return {s.recompute, 0};
  const int stages = s.parallel.pp * s.schedule.chunks;
  const double most = std::max(1.0, std::ceil(double(s.model.layers.size()) / stages));
  return {s.recompute, static_cast<int>(std::lround(100 * s.recompute_layers / most))};
}

void vary_degrees(const Scenario& s, SearchSpace& space) {
  const int devices = space.devices.front();
  std::int64_t heads = 0, experts = 0, width = 0;
  for (const models::Layer& layer : s.model.kinds) {
    heads = heads == 0 ? layer.attention.heads : std::gcd(heads, layer.attention.heads);
    experts = std::max(experts, layer.experts.count);
    width = std::max(width, layer.experts.width);
  }
  const int layers = static_cast<int>(s.model.layers.size());
  // Ends of the pipeline may count as a layer each: 126 layers on 128 stages.
  for (const int d : divisors(devices, devices)) {
    if (heads % d == 0 && d <= 8 * s.cluster.groups.front().devices_per_node) space.tp.push_back(d);
    if (d <= layers + 2) space.pp.push_back(d);
  }
  space.cp = {1};
  for (int cp = 2; cp <= devices && s.batch.sequence / cp >= 4096; cp *= 2) space.cp.push_back(cp);
  add_once(space.cp, s.parallel.cp);
  space.ep = experts > 0 ? divisors(experts, devices) : std::vector<int>{1};
  space.etp = {1};
  add_once(space.etp, s.parallel.etp);
}

}  // namespace

SearchSpace search_space(const Scenario& s, bool full) {
  SearchSpace space;
  space.devices = {s.cluster.devices()};
  space.order = {joined(s.parallel.order)};
  vary_degrees(s, space);
  space.sequence_parallel = {true, false};
  for (std::int64_t micro = 1; micro <= std::min<std::int64_t>(s.batch.global, full ? 1024 : 64);
       micro *= 2)
    space.micro.push_back(micro);
  add_once(space.micro, s.batch.micro);
  space.schedule = {"1f1b", "interleaved-1f1b"};
  add_once(space.schedule, s.schedule.name);
  if (full)
    for (const std::string& name : flushing_schedules()) add_once(space.schedule, name);
  const int layers = static_cast<int>(s.model.layers.size());
  space.chunks = divisors(layers, full ? layers : 16);
  add_once(space.chunks, s.schedule.chunks);
  space.balanced = {false, true};
  space.recompute = {{Recompute::None, 0}, {Recompute::Selective, 0}, {Recompute::Full, 0}};
  for (const int percent :
       full ? std::vector<int>{10, 25, 40, 50, 60, 75, 90} : std::vector<int>{25, 50, 75})
    space.recompute.push_back({Recompute::Blockwise, percent});
  add_once(space.recompute, way_of(s));
  space.zero = {0, 1, 2, 3};
  space.offload = {s.offload.share};
  space.optimizer = {s.optimizer.offload.device};
  if (!full) return space;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) add_once(space.offload, share);
  for (const OptimizerDevice device : {OptimizerDevice::Gpu, OptimizerDevice::Cpu})
    add_once(space.optimizer, device);
  return space;
}

double combinations(const SearchSpace& space) {
  double product = 1;
  for (const std::size_t size :
       {space.devices.size(), space.order.size(), space.tp.size(), space.cp.size(), space.pp.size(),
        space.ep.size(), space.etp.size(), space.sequence_parallel.size(), space.micro.size(),
        space.schedule.size(), space.chunks.size(), space.balanced.size(), space.recompute.size(),
        space.zero.size(), space.offload.size(), space.optimizer.size()})
    product *= static_cast<double>(size);
  return product;
}

std::optional<Layout> own_layout(const Scenario& s, const SearchSpace& space) {
  const auto has = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  const models::Parallel& p = s.parallel;
  const auto order = std::find(space.order.begin(), space.order.end(), joined(p.order));
  const RecomputeWay way = way_of(s);
  const bool inside =
      has(space.devices, p.world_size()) && order != space.order.end() && has(space.tp, p.tp) &&
      has(space.cp, p.cp) && has(space.pp, p.pp) && has(space.ep, p.ep) && has(space.etp, p.etp) &&
      has(space.sequence_parallel, p.sequence_parallel) && has(space.micro, s.batch.micro) &&
      has(space.schedule, s.schedule.name) && has(space.balanced, false) &&
      has(space.recompute, way) && has(space.zero, p.zero) && has(space.offload, s.offload.share) &&
      has(space.optimizer, s.optimizer.offload.device);
  const models::ScheduleTraits& traits = *models::schedule_traits(s.schedule.name);
  const bool chunks =
      (traits.takes & models::kTakesChunks) == 0 || has(space.chunks, s.schedule.chunks);
  if (!inside || !chunks || !p.stage_layers.empty()) return std::nullopt;
  Layout l;
  l.devices = p.world_size();
  l.order = *order;
  l.tp = p.tp;
  l.cp = p.cp;
  l.pp = p.pp;
  l.ep = p.ep;
  l.etp = p.etp;
  l.sequence_parallel = p.sequence_parallel;
  l.micro = s.batch.micro;
  l.schedule = find_schedule(s.schedule.name, "").name;
  l.chunks = s.schedule.chunks;
  l.recompute = way;
  l.zero = p.zero;
  l.offload = s.offload.share;
  l.optimizer = s.optimizer.offload.device;
  return l;
}

int recomputed_layers(const RecomputeWay& way, int most_layers) {
  if (way.kind != Recompute::Blockwise) return 0;
  return std::max(1, static_cast<int>(std::lround(most_layers * way.percent / 100.0)));
}

std::string to_text(const RecomputeWay& way) {
  std::string text(models::to_text(way.kind));
  if (way.kind == Recompute::Blockwise) text += "-" + std::to_string(way.percent);
  return text;
}

void apply(const Layout& layout, Scenario& s) {
  models::Parallel& p = s.parallel;
  const bool same_cp = p.cp == layout.cp;
  p.tp = layout.tp;
  p.cp = layout.cp;
  p.pp = layout.pp;
  p.dp = layout.dp();
  p.ep = layout.ep;
  p.etp = layout.etp;
  p.zero = layout.zero;
  if (p.zero == 0 || (p.shard > 0 && p.dp % p.shard != 0)) p.shard = 0;
  p.sequence_parallel = layout.sequence_parallel;
  p.stage_layers.clear();
  if (joined(p.order) != layout.order) {
    p.order.clear();
    for (std::size_t at = 0; at < layout.order.size(); at += 3)
      p.order.emplace_back(layout.order.substr(at, 2));
  }
  if (!same_cp) p.context.inner = 0;
  models::place_context(s);
  s.batch.micro = layout.micro;
  if (s.schedule.name != layout.schedule) {
    s.schedule.name = layout.schedule;
    s.schedule.options = {};
  }
  s.schedule.chunks = layout.chunks;
  s.recompute = layout.recompute.kind;
  const int stages = layout.pp * layout.chunks;
  const int layers = static_cast<int>(s.model.layers.size());
  s.recompute_layers = recomputed_layers(layout.recompute, (layers + stages - 1) / stages);
  s.offload.share = layout.offload;
  s.optimizer.offload.device = layout.optimizer;
  if (s.optimizer.offload.host() && s.optimizer.offload.cpu_rate <= 0)
    s.optimizer.offload.cpu_rate = models::kCpuAdamRate;
}

namespace {

std::string list_text(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "[" : ",") + std::to_string(value);
  return text + "]";
}

/// `schedule` where it is another; the options of the same one stay.
std::string schedule_setting(const Layout& l, const Scenario& base) {
  const models::ScheduleTraits& traits = *models::schedule_traits(l.schedule);
  const bool same = l.schedule == base.schedule.name;
  if (same && l.chunks == base.schedule.chunks) return "";
  const std::string chunks = std::to_string(l.chunks);
  if (same && !(base.schedule.options == models::ScheduleOptions{}))
    return "schedule.chunks=" + chunks;
  const std::string name(l.schedule);
  if ((traits.takes & models::kTakesChunks) == 0) return "schedule=" + name;
  return "schedule={name: " + name + ", chunks: " + chunks + "}";
}

std::string optimizer_setting(const Scenario& s) {
  const models::OptimizerChoice& o = s.optimizer;
  std::string text = "optimizer={name: " + o.name + ", master: ";
  text += o.keeps_master ? std::string(models::to_text(o.master)) : "none";
  text += ", states: " + std::string(models::to_text(o.states));
  if (!o.norm_barrier) text += ", norm_barrier: false";
  return text + ", device: " + (o.offload.device == OptimizerDevice::Cpu ? "cpu}" : "gpu}");
}

}  // namespace

std::vector<std::string> settings(const Layout& l, const Scenario& s, const Scenario& base) {
  std::vector<std::string> out;
  const auto number = [&](const char* path, std::int64_t now, std::int64_t before) {
    if (now != before) out.push_back(path + ("=" + std::to_string(now)));
  };
  const models::Parallel &p = s.parallel, &b = base.parallel;
  number("parallel.tp", p.tp, b.tp);
  number("parallel.pp", p.pp, b.pp);
  number("parallel.cp", p.cp, b.cp);
  number("parallel.dp", p.dp, 0);
  number("parallel.ep", p.ep, b.ep);
  number("parallel.etp", p.etp, b.etp);
  number("parallel.zero", p.zero, b.zero);
  number("parallel.shard", p.shard, b.shard);
  if (p.sequence_parallel != b.sequence_parallel)
    out.push_back(std::string("parallel.sequence_parallel=") +
                  (p.sequence_parallel ? "true" : "false"));
  if (p.order != b.order) out.push_back("parallel.order=" + joined(p.order));
  if (p.stage_layers != b.stage_layers)
    out.push_back("parallel.stage_layers=" +
                  (p.stage_layers.empty() ? std::string() : list_text(p.stage_layers)));
  number("batch.micro", s.batch.micro, base.batch.micro);
  if (const std::string text = schedule_setting(l, base); !text.empty()) out.push_back(text);
  if (s.recompute != base.recompute || base.choose_recompute)
    out.push_back("recompute=" + std::string(models::to_text(s.recompute)));
  if (s.recompute == Recompute::Blockwise)
    number("recompute_layers", s.recompute_layers, base.recompute_layers);
  else if (base.recompute == Recompute::Blockwise)
    out.emplace_back("recompute_layers=");
  if (s.offload.share != base.offload.share || base.choose_offload)
    out.push_back(s.offload.share > 0
                      ? "offload={activations: " + base::format_fixed(s.offload.share, 2) + "}"
                      : std::string("offload="));
  if (base.memory_limit.value > 0) out.emplace_back("memory_limit=");
  if (s.optimizer.offload.device != base.optimizer.offload.device)
    out.push_back(optimizer_setting(s));
  return out;
}

}  // namespace paceline::sim
