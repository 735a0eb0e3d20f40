// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "models/scenario/resolved.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/search/space.hpp"

/// `--vary pp=1,2,4`.
namespace paceline::sim {
namespace {

using models::OptimizerDevice;
using models::Recompute;

[[noreturn]] void refuse(const std::string& text, const std::string& what,
                         const std::string& hint) {
  throw base::Error("--vary " + text, what, hint);
}

std::vector<std::string> values_of(const std::string& text, std::size_t begin) {
  std::vector<std::string> values;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return values;
}

std::int64_t integer(const std::string& text, const std::string& value, std::int64_t least,
                     std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    refuse(text,
           base::quote(value) + " is no whole number of " + std::to_string(least) + " to " +
               std::to_string(most),
           "for example " + text.substr(0, text.find('=')) + "=" + std::to_string(least));
  return number;
}

RecomputeWay recompute_way(const std::string& text, const std::string& value) {
  if (value == "none") return {Recompute::None, 0};
  if (value == "selective") return {Recompute::Selective, 0};
  if (value == "full") return {Recompute::Full, 0};
  constexpr std::string_view kBlockwise = "blockwise-";
  if (!value.starts_with(kBlockwise))
    refuse(text, base::quote(value) + " is no way to recompute",
           "none, selective, full, or blockwise-50: half of the layers of a stage");
  return {Recompute::Blockwise,
          static_cast<int>(integer(text, value.substr(kBlockwise.size()), 1, 99))};
}

/// Values with names.
template <class T, std::size_t N>
T named(const std::string& text, const std::string& value,
        const std::array<std::pair<std::string_view, T>, N>& names) {
  std::string valid;
  for (const auto& [name, of] : names) {
    if (name == value) return of;
    valid += (valid.empty() ? "" : ", ") + std::string(name);
  }
  refuse(text, base::quote(value) + " is none of " + valid, "one of them");
}

constexpr std::array<std::pair<std::string_view, bool>, 2> kFlags{
    {{"false", false}, {"true", true}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kCuts{
    {{"stack", false}, {"balanced", true}}};
constexpr std::array<std::pair<std::string_view, OptimizerDevice>, 2> kDevices{
    {{"gpu", OptimizerDevice::Gpu}, {"cpu", OptimizerDevice::Cpu}}};

std::string order_of(const std::string& text, const std::string& value) {
  std::vector<std::string> axes;
  for (std::size_t at = 0; at < value.size(); at += 3) axes.push_back(value.substr(at, 2));
  std::sort(axes.begin(), axes.end());
  const bool dashes = value.size() == 14 && std::count(value.begin(), value.end(), '-') == 4;
  if (!dashes || axes != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"})
    refuse(text, base::quote(value) + " does not name tp, cp, ep, dp and pp once each",
           "for example order=tp-cp-ep-dp-pp, innermost first");
  return value;
}

double share_of(const std::string& text, const std::string& value) {
  double share = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), share);
  if (error != std::errc() || end != value.data() + value.size() || !(share >= 0 && share <= 1))
    refuse(text, base::quote(value) + " is no share of 0 to 1", "for example offload=0,0.5");
  return share;
}

}  // namespace

void vary(SearchSpace& space, const models::Scenario& s, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const auto set = [&](auto& list, const auto& parse) {
    list.clear();
    for (const std::string& value : values_of(text, equals + 1)) {
      const auto parsed = parse(value);
      if (std::find(list.begin(), list.end(), parsed) == list.end()) list.push_back(parsed);
    }
  };
  const auto count = [&](std::int64_t least, std::int64_t most) {
    return [&text, least, most](const std::string& value) {
      return static_cast<int>(integer(text, value, least, most));
    };
  };
  const std::pair<std::string_view, std::vector<int>*> degrees[] = {
      {"tp", &space.tp}, {"cp", &space.cp},   {"pp", &space.pp},
      {"ep", &space.ep}, {"etp", &space.etp}, {"chunks", &space.chunks}};
  const auto degree = std::find_if(std::begin(degrees), std::end(degrees),
                                   [&](const auto& entry) { return entry.first == key; });
  if (equals == std::string::npos || equals + 1 == text.size()) {
    refuse(text, "is no NAME=VALUE,VALUE,...", "for example pp=1,2,4");
  } else if (key.starts_with("e") && degree != std::end(degrees) && !models::has_experts(s.model)) {
    refuse(text, "the model has no experts", "ep and etp are of mixtures of experts");
  } else if (degree != std::end(degrees)) {
    set(*degree->second, count(1, 1 << 20));
  } else if (key == "devices") {
    set(space.devices, count(1, s.cluster.devices()));
  } else if (key == "micro") {
    set(space.micro, [&](const std::string& v) { return integer(text, v, 1, s.batch.global); });
  } else if (key == "zero") {
    set(space.zero, count(0, 3));
  } else if (key == "schedule") {
    set(space.schedule,
        [&](const std::string& v) { return std::string(find_schedule(v, "--vary " + text).name); });
  } else if (key == "recompute") {
    set(space.recompute, [&](const std::string& v) { return recompute_way(text, v); });
  } else if (key == "sequence_parallel") {
    set(space.sequence_parallel, [&](const std::string& v) { return named(text, v, kFlags); });
  } else if (key == "layers") {
    set(space.balanced, [&](const std::string& v) { return named(text, v, kCuts); });
  } else if (key == "optimizer") {
    set(space.optimizer, [&](const std::string& v) { return named(text, v, kDevices); });
  } else if (key == "offload") {
    set(space.offload, [&](const std::string& v) { return share_of(text, v); });
  } else if (key == "order") {
    set(space.order, [&](const std::string& v) { return order_of(text, v); });
  } else {
    refuse(text, "there is no dimension " + base::quote(key),
           "one of devices, tp, cp, pp, ep, etp, sequence_parallel, micro, schedule, chunks, "
           "layers, recompute, zero, offload, optimizer, order");
  }
}

}  // namespace paceline::sim
