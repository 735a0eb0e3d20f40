// SPDX-License-Identifier: Apache-2.0
#include "models/money/prices.hpp"

#include <catch2/catch.hpp>

using namespace paceline;
using namespace paceline::models;

namespace {

/// Of a scenario on H100 that says so much of `run` and `prices`.
std::optional<Prices> prices_of(const std::string& yaml) {
  const base::Document document = base::parse_yaml(yaml, "s.yaml");
  base::Fields fields(document, document.root);
  std::optional<base::Fields> run, own;
  if (fields.has("run")) run.emplace(fields.map("run"));
  if (fields.has("prices")) own.emplace(fields.map("prices"));
  Cluster cluster = read_cluster("dgx-h100");
  std::vector<std::string> notes;
  const auto prices = read_prices(run ? &*run : nullptr, own ? &*own : nullptr, cluster, notes);
  if (run) run->done();
  return prices;
}

}  // namespace

TEST_CASE("a scenario that names no price has none") {
  CHECK_FALSE(prices_of("run: {}"));
  CHECK_FALSE(prices_of("x: 1"));
  CHECK_FALSE(prices_of("run: {price: on-demand}"));  // nobody's
}

TEST_CASE("prices of a provider's region come with their sources, the scenario's own come first") {
  const auto p = prices_of(
      "run: {price: spot, provider: aws, region: us-west-2}\nprices: {pue: 1.3, carbon: 0.1 "
      "kg/kWh}");
  REQUIRE(p);
  CHECK(p->device_hour == std::vector<double>{2.25});
  CHECK(p->electricity == 0.0752);
  CHECK(p->carbon == 0.1);
  CHECK(p->pue == 1.3);
  CHECK(p->sources.size() >= 5);
}

TEST_CASE("what is owned pays for electricity, what is rented does not") {
  const Usage usage{{100}, 50.0, 2e9};
  const auto owned = prices_of("run: {price: owned}\nprices: {electricity: 0.2 USD/kWh, pue: 1.5}");
  REQUIRE(owned);
  const Cost bill = cost_of(*owned, usage);
  REQUIRE(bill.parts.size() == 1);
  CHECK(bill.total() == Approx(0.2 * 50 * 1.5));
  const auto rented = prices_of("prices: {device_hour: 3 USD/h, egress: 0.1 USD/GB}");
  REQUIRE(rented);
  CHECK(cost_of(*rented, usage).total() == Approx(300 + 0.2));
}

TEST_CASE("questions without a price are refused with the way out") {
  CHECK_THROWS_WITH(prices_of("run: {price: cheap, provider: aws}"), Catch::Contains("on-demand"));
  CHECK_THROWS_WITH(prices_of("run: {price: spot, provider: lambda}"),
                    Catch::Contains("no spot price") && Catch::Contains("on-demand"));
  CHECK_THROWS_WITH(prices_of("run: {price: on-demand, provider: runpod}"),
                    Catch::Contains("device_hour"));
  CHECK_THROWS_WITH(prices_of("run: {provider: aws, region: mars}"), Catch::Contains("mars"));
  CHECK_THROWS_WITH(prices_of("run: {region: us-east-1}"), Catch::Contains("provider"));
  CHECK_THROWS_WITH(prices_of("run: {provider: amazon}"), Catch::Contains("unknown provider"));
  CHECK_THROWS_AS(prices_of("prices: {device_hour: -2 USD/h}"), base::Error);
  CHECK_THROWS_AS(prices_of("prices: {device_hour: 2}"), base::Error);
  CHECK_THROWS_AS(prices_of("prices: {electricty: 2 USD/kWh}"), base::Error);
}

TEST_CASE("electricity by hours costs the mean of the hours in which the run works") {
  const std::string day =
      "prices: {electricity: [{hours: [22, 6], price: 0.06 USD/kWh}, {hours: [6, 22], price: 0.15 "
      "USD/kWh}]}";
  CHECK(prices_of(day)->electricity == Approx((8 * 0.06 + 16 * 0.15) / 24));
  CHECK(prices_of("run: {price: owned, hours: [22, 6]}\n" + day)->electricity == Approx(0.06));
  CHECK(prices_of("run: {price: owned, hours: [20, 0]}\n" + day)->electricity ==
        Approx((2 * 0.15 + 2 * 0.06) / 4));
  CHECK(prices_of("run: {price: owned, hours: [4, 8]}\n" + day)->electricity ==
        Approx((2 * 0.15 + 2 * 0.06) / 4));
  using Catch::Contains;
  CHECK_THROWS_WITH(prices_of("run: {hours: [22, 6]}"), Contains("without prices"));
  CHECK_THROWS_WITH(prices_of("run: {price: owned, hours: [7, 7]}\n" + day), Contains("no time"));
  CHECK_THROWS_WITH(prices_of("run: {price: owned, hours: [24, 0]}\n" + day), Contains("no time"));
  CHECK_THROWS_WITH(prices_of("run: {price: owned, hours: [7]}\n" + day), Contains("1 numbers"));
  CHECK_THROWS_WITH(prices_of("run: {price: owned, hours: [7, 25]}\n" + day), Contains("25"));
  CHECK_THROWS_WITH(prices_of("prices: {electricity: [{hours: [0, 20], price: 0.1 USD/kWh}]}"),
                    Contains("20 h of the day"));
  CHECK_THROWS_WITH(
      prices_of("prices: {electricity: [{hours: [0, 20], price: 0.1 USD/kWh}, {hours: "
                "[19, 24], price: 0.1 USD/kWh}]}"),
      Contains("overlap") && Contains("s.yaml:1:"));
  CHECK_THROWS_WITH(prices_of("prices: {electricity: [{hours: [0, 24], price: -0.1 USD/kWh}]}"),
                    Contains("-0.1"));
}

TEST_CASE("checkpoints in storage cost their bytes by the month") {
  const auto p =
      prices_of("run: {price: owned, checkpoints: 3}\nprices: {storage: 0.02 USD/GB-month}");
  REQUIRE(p);
  CHECK(p->keeps == 3);
  Usage usage{{1}, std::nullopt, 0};
  usage.stored_byte_hours = 5e9 * 730.5;
  CHECK(cost_of(*p, usage).total() == Approx(5 * 0.02));
}
