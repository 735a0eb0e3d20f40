// SPDX-License-Identifier: Apache-2.0
#include "models/money/provider.hpp"

#include <catch2/catch.hpp>

#include "models/hardware/device.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {
Provider provider_of(const std::string& yaml) {
  return read_provider(base::parse_yaml(yaml, "p.yaml"), "p");
}
}  // namespace

TEST_CASE("every provider reads, and prices devices there are") {
  for (const std::string& name : spec_names("provider")) {
    CAPTURE(name);
    const Provider p = read_provider(name);
    CHECK_FALSE(p.devices.empty());
    for (const DevicePrice& price : p.devices) {
      CHECK_NOTHROW(read_device(price.device));
      CHECK((price.on_demand || price.reserved || price.spot));
      if (price.spot && price.on_demand) CHECK(*price.spot <= *price.on_demand);
    }
  }
}

TEST_CASE("regions and devices of a provider are found by name") {
  const Provider aws = read_provider("aws");
  CHECK(find_region(aws, "us-west-2", "x").electricity == 0.0752);
  CHECK(find_region(aws, "eu-north-1", "x").carbon == 0.008);
  CHECK_THROWS_WITH(find_region(aws, "us-west-9", "a.yaml:1:2"),
                    Catch::Contains("a.yaml:1:2") && Catch::Contains("us-west-"));
  REQUIRE(find_price(aws, "h100-sxm") != nullptr);
  CHECK(find_price(aws, "t4") == nullptr);
}

TEST_CASE("prices have exactly one unit") {
  CHECK(parse_price("2.5 USD/h", "USD/h", "x") == 2.5);
  CHECK(parse_price("0 USD/GB", "USD/GB", "x") == 0);
  for (const char* bad : {"2.5", "-1 USD/h", "2.5 EUR/h", "2.5 USD/kWh", "USD/h", "nan USD/h",
                          "1e400 USD/h", "1e12 USD/h", "2.5 USD/h x", ""}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_price(bad, "USD/h", "a.yaml:2:3: price"), base::Error);
  }
}

TEST_CASE("a provider with an unknown key, a price without a source or a list is refused") {
  const std::string head = "summary: x\nsources: {s: y}\n";
  CHECK_NOTHROW(provider_of(head + "pue: {value: 1.2, source: s}\n"));
  CHECK_THROWS_WITH(provider_of(head + "pue: 1.2\n"), Catch::Contains("source"));
  CHECK_THROWS_AS(provider_of(head + "pue: {value: 0.9, source: s}\n"), base::Error);
  CHECK_THROWS_AS(provider_of(head + "prices: {}\n"), base::Error);
  CHECK_THROWS_AS(provider_of(head + "devices: [a100]\n"), base::Error);
  CHECK_THROWS_AS(provider_of(head + "devices: {a: {on_demand: {value: 1, source: s}}}\n"),
                  base::Error);
}
