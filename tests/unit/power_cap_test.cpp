// SPDX-License-Identifier: Apache-2.0
#include "models/energy/power_cap.hpp"

#include <catch2/catch.hpp>

using namespace paceline;
using namespace paceline::models;

namespace {
constexpr ClockPower kDevice{60, 0.6, 90};
}

TEST_CASE("a cap above the busy power changes nothing") {
  const CappedWork work{10, 300, 0.7, 0.2};
  const Capped c = under_cap(kDevice, work, base::Watts(300));
  CHECK(c.clock == 1);
  CHECK(c.seconds == Approx(10));
  CHECK(c.watts == Approx(0.2 * 90 + 0.8 * 300));
}

TEST_CASE("a lower cap slows the clock until busy power is within it, and never speeds work up") {
  const CappedWork work{10, 300, 0.7, 0.1};
  double seconds = 0, clock = 2;
  for (const double cap : {300.0, 260.0, 220.0, 180.0, 150.0}) {
    const Capped c = under_cap(kDevice, work, base::Watts(cap));
    CHECK(c.seconds >= seconds);
    CHECK(c.clock < clock);
    CHECK(c.watts <= cap);
    seconds = c.seconds;
    clock = c.clock;
  }
}

TEST_CASE("below the voltage floor power falls with the clock, above it with its cube") {
  // still 60, 240 W dynamic at the highest clock: a half clock above a floor of 0.4 draws an
  // eighth.
  const ClockPower low{60, 0.4, 90}, high{60, 0.8, 90};
  const CappedWork work{1, 300, 1, 0};
  CHECK(under_cap(low, work, base::Watts(60 + 240.0 / 8)).clock == Approx(0.5).epsilon(1e-6));
  CHECK(under_cap(high, work, base::Watts(60 + 240 * 0.5 * 0.64)).clock ==
        Approx(0.5).epsilon(1e-6));
}

TEST_CASE("work bound by memory hardly feels a cap, work bound by the clock follows it") {
  const CappedWork memory{1, 300, 0.05, 0}, clock{1, 300, 1, 0};
  const base::Watts cap(200);
  CHECK(under_cap(kDevice, memory, cap).seconds < 1.001);
  const Capped c = under_cap(kDevice, clock, cap);
  CHECK(c.seconds == Approx(1 / c.clock));
}

TEST_CASE("a cap nothing can keep leaves the lowest clock") {
  const Capped c = under_cap(kDevice, {1, 300, 1, 0}, base::Watts(10));
  CHECK(c.clock == Approx(0.05));
  CHECK(c.watts > 10);
}

TEST_CASE("busy power is found back from the mean") {
  const CappedWork work{1, 280, 0.5, 0.3};
  const double mean = under_cap(kDevice, work, base::Watts(1000)).watts;
  CHECK(busy_power(kDevice, 0.3, mean) == Approx(280));
}
