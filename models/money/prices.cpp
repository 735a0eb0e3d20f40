// SPDX-License-Identifier: Apache-2.0
#include "models/money/prices.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "models/money/provider.hpp"

namespace paceline::models {
namespace {

constexpr std::array<std::string_view, 4> kKinds{"on-demand", "reserved", "spot", "owned"};

std::string source_of(const Provider& provider, const std::string& key) {
  for (const Fact& fact : provider.facts) {
    if (fact.key == key) return fact.value + ": " + fact.source;
  }
  return "";
}

void note(Prices& p, const std::string& what, const std::string& source) {
  if (!source.empty()) p.sources.push_back(what + " " + source);
}

std::optional<double> rent_of(const DevicePrice& price, const std::string& kind) {
  if (kind == "on-demand") return price.on_demand;
  return kind == "reserved" ? price.reserved : price.spot;
}

std::string kinds_with_price(const DevicePrice& price) {
  std::string text;
  for (const std::string_view kind : kKinds) {
    if (kind == "owned" || !rent_of(price, std::string(kind))) continue;
    text += (text.empty() ? "" : ", ") + std::string(kind);
  }
  return text;
}

void take_rent(base::Fields& run, const Provider& provider, const Cluster& cluster, Prices& p) {
  for (const NodeGroup& group : cluster.groups) {
    const DevicePrice* price = find_price(provider, group.device.name);
    if (price == nullptr) {
      run.fail("price", provider.name + " has no price of " + group.device.name,
               "prices.device_hour gives one, for example 2.5 USD/h");
    }
    const std::optional<double> rent = rent_of(*price, p.kind);
    if (!rent) {
      run.fail("price", provider.name + " has no " + p.kind + " price of " + group.device.name,
               "one of " + kinds_with_price(*price) + ", or prices.device_hour");
    }
    p.device_hour.push_back(*rent);
    std::string key = p.kind;
    std::replace(key.begin(), key.end(), '-', '_');
    note(p, group.device.name + " " + p.kind, source_of(provider, price->device + "." + key));
  }
}

/// What the provider says and the scenario does not.
void take_provider(base::Fields& run, const Cluster& cluster, bool rents, Prices& p) {
  const Provider provider = read_provider(p.provider, run.where("provider"));
  if (rents && p.kind != "owned") take_rent(run, provider, cluster, p);
  p.pue = provider.pue.value_or(1);
  note(p, "pue", source_of(provider, "pue"));
  p.egress = provider.egress.region;
  note(p, "egress", source_of(provider, "egress.region"));
  p.storage = provider.storage;
  note(p, "storage", source_of(provider, "storage"));
  if (p.region.empty()) return;
  const Region& region = find_region(provider, p.region, run.where("region"));
  p.electricity = region.electricity;
  p.carbon = region.carbon;
  note(p, "electricity", source_of(provider, region.name + ".electricity"));
  note(p, "carbon", source_of(provider, region.name + ".carbon"));
}

void read_own(base::Fields& fields, const Cluster& cluster, Prices& p) {
  const auto own = [&](std::string_view key, std::string_view unit, std::optional<double>& to) {
    if (!fields.has(key)) return;
    to = price(fields, key, unit);
    p.sources.push_back(std::string(key) + " " + fields.at(key).text + ": the scenario");
  };
  std::optional<double> hour;
  own("device_hour", "USD/h", hour);
  if (hour) p.device_hour.assign(cluster.groups.size(), *hour);
  if (fields.has("electricity")) {
    const std::vector<Tariff> tariffs = read_tariffs(fields);
    p.electricity = mean_price(tariffs, p.hours);
    p.sources.push_back("electricity " + base::shortest(*p.electricity) + " USD/kWh" +
                        (tariffs.size() > 1 ? ", mean of the hours it is used" : "") +
                        ": the scenario");
  }
  own("storage", "USD/GB-month", p.storage);
  own("egress", "USD/GB", p.egress);
  own("carbon", "kg/kWh", p.carbon);
  if (fields.has("pue")) {
    p.pue = fields.number("pue", 1, 10);
    p.sources.push_back("pue " + fields.at("pue").text + ": the scenario");
  }
  fields.done();
}

[[noreturn]] void refuse_lone_region(base::Fields& run) {
  run.fail("region", "has no provider", "run.provider: `paceline list providers` names them");
}

void read_kind(base::Fields& run, Prices& p) {
  p.kind = run.text("price", "on-demand");
  if (std::find(kKinds.begin(), kKinds.end(), p.kind) == kKinds.end())
    run.fail("price", "unknown price " + base::quote(p.kind),
             "one of on-demand, reserved, spot, owned");
  p.provider = run.text("provider", "");
  p.region = run.text("region", "");
  if (!p.region.empty() && p.provider.empty()) refuse_lone_region(run);
  if (run.has("hours")) p.hours = read_working_hours(run);
  p.keeps = run.number("checkpoints", 0, 1e6, 0.0);
}

/// What means nothing without a price.
void refuse_without_prices(base::Fields& run) {
  if (run.has("region")) refuse_lone_region(run);
  for (const char* key : {"hours", "checkpoints"})
    if (run.has(key)) run.fail(key, "means nothing without prices", "run.provider, or prices");
}

}  // namespace

std::optional<Prices> read_prices(base::Fields* run, base::Fields* prices, const Cluster& cluster,
                                  std::vector<std::string>& notes) {
  const bool asked = run != nullptr && (run->has("price") || run->has("provider"));
  if (!asked && prices == nullptr) {
    if (run != nullptr) refuse_without_prices(*run);
    return std::nullopt;
  }
  Prices p;
  p.kind = "on-demand";
  if (run != nullptr) read_kind(*run, p);
  const bool own_rent = prices != nullptr && prices->has("device_hour");
  if (!p.provider.empty()) take_provider(*run, cluster, !own_rent, p);
  if (prices != nullptr) read_own(*prices, cluster, p);
  if (p.kind == "owned") p.device_hour.clear();
  if (p.provider.empty() && prices == nullptr) {
    notes.push_back("run.price " + base::quote(p.kind) +
                    " names nobody's price, the answer has no cost: run.provider, or prices: "
                    "{device_hour: 2.5 USD/h}");
    return std::nullopt;
  }
  return p;
}

double Cost::total() const {
  double sum = 0;
  for (const auto& [name, usd] : parts) sum += usd;
  return sum;
}

Cost cost_of(const Prices& prices, const Usage& usage) {
  Cost cost;
  if (!prices.device_hour.empty()) {
    PACELINE_CHECK(prices.device_hour.size() == usage.device_hours.size());
    double rent = 0;
    for (std::size_t i = 0; i < usage.device_hours.size(); ++i)
      rent += prices.device_hour[i] * usage.device_hours[i];
    cost.parts.emplace_back("devices", rent);
  } else if (prices.electricity && usage.kwh) {
    cost.parts.emplace_back("electricity", *prices.electricity * *usage.kwh * prices.pue);
  }
  if (prices.egress && usage.sent_bytes > 0)
    cost.parts.emplace_back("egress", *prices.egress * usage.sent_bytes / 1e9);
  constexpr double kHoursOfMonth = 730.5;  // a twelfth of 365.25 days
  if (prices.storage && usage.stored_byte_hours > 0)
    cost.parts.emplace_back("storage",
                            *prices.storage * usage.stored_byte_hours / 1e9 / kHoursOfMonth);
  return cost;
}

}  // namespace paceline::models
