// SPDX-License-Identifier: Apache-2.0
#include "models/money/tariff.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"
#include "base/text.hpp"
#include "models/money/provider.hpp"

namespace paceline::models {
namespace {

constexpr const char* kExample = "two hours of the day, [22, 6]";

std::array<double, 2> read_hours(base::Fields& fields) {
  const auto& items = fields.list("hours");
  if (items.size() != 2)
    fields.fail("hours", "has " + std::to_string(items.size()) + " numbers", kExample);
  std::array<double, 2> hours{};
  for (std::size_t i = 0; i < 2; ++i)
    hours[i] = base::parse_number(items[i].text, fields.where(items[i], "hours"), 0, kHoursOfDay);
  if (hours[0] == kHoursOfDay) hours[0] = 0;
  if (hours[0] == hours[1]) fields.fail("hours", "is no time", kExample);
  return hours;
}

/// Common length of two spans that may go over midnight.
double overlap(double a_from, double a_to, double b_from, double b_to) {
  if (a_from > a_to)
    return overlap(a_from, kHoursOfDay, b_from, b_to) + overlap(0, a_to, b_from, b_to);
  if (b_from > b_to)
    return overlap(a_from, a_to, b_from, kHoursOfDay) + overlap(a_from, a_to, 0, b_to);
  return std::max(0.0, std::min(a_to, b_to) - std::max(a_from, b_from));
}

std::string in_hours(double hours) { return base::shortest(hours) + " h"; }

}  // namespace

double WorkingHours::length() const { return overlap(from, to, 0, kHoursOfDay); }

std::vector<Tariff> read_tariffs(base::Fields& prices) {
  if (prices.at("electricity").kind != base::Value::Kind::List)
    return {{0, kHoursOfDay, price(prices, "electricity", "USD/kWh")}};
  std::vector<Tariff> tariffs;
  double covered = 0;
  for (const base::Value& item : prices.list("electricity")) {
    base::Fields entry = prices.view(item, "electricity." + std::to_string(tariffs.size()));
    const auto [from, to] = read_hours(entry);
    for (const Tariff& other : tariffs)
      if (overlap(from, to, other.from, other.to) > 0)
        entry.fail("hours", "overlap those of another entry", "every hour of the day once");
    tariffs.push_back({from, to, price(entry, "price", "USD/kWh")});
    covered += overlap(from, to, 0, kHoursOfDay);
    entry.done();
  }
  constexpr double kRounding = 1e-9;
  if (covered < kHoursOfDay - kRounding)
    prices.fail("electricity", "has a price for " + in_hours(covered) + " of the day",
                "every hour of the day once");
  return tariffs;
}

WorkingHours read_working_hours(base::Fields& run) {
  const auto [from, to] = read_hours(run);
  return {from, to};
}

double mean_price(const std::vector<Tariff>& tariffs, const WorkingHours& hours) {
  double sum = 0;
  for (const Tariff& t : tariffs) sum += t.price * overlap(t.from, t.to, hours.from, hours.to);
  return sum / hours.length();
}

}  // namespace paceline::models
