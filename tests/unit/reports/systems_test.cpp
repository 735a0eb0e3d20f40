// SPDX-License-Identifier: Apache-2.0
#include "reports/systems.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "base/config.hpp"

using namespace paceline;
using models::Relation;
using reports::judge;
using reports::SystemStatus;

namespace {

models::SystemCheck check(Relation relation, double claimed) {
  models::SystemCheck one;
  one.quantity = "speed-up";
  one.relation = relation;
  one.claimed = claimed;
  return one;
}

SystemStatus status(Relation relation, double claimed, double value) {
  return judge(check(relation, claimed), value).status;
}

}  // namespace

TEST_CASE("A figure is reproduced within 5 %, within inside 20 %, off beyond", "[reports]") {
  CHECK(status(Relation::Value, 2, 2.1) == SystemStatus::Reproduced);
  CHECK(status(Relation::Value, 2, 1.9) == SystemStatus::Reproduced);
  CHECK(status(Relation::Value, 2, 2.101) == SystemStatus::Within);
  CHECK(status(Relation::Value, 2, 1.6) == SystemStatus::Within);
  CHECK(status(Relation::Value, 2, 1.59) == SystemStatus::Off);
}

TEST_CASE("Gains and savings are compared as such, not as ratios near one", "[reports]") {
  // 1.05 for 1.10 would be 5 % off as a ratio; as a gain it is half.
  const auto gain = judge(check(Relation::Gain, 0.10), 1.05);
  CHECK(gain.predicted == Approx(0.05));
  CHECK(*gain.error == Approx(-0.5));
  CHECK(gain.status == SystemStatus::Off);
  const auto saving = judge(check(Relation::Saving, 0.5), 0.49);
  CHECK(saving.predicted == Approx(0.51));
  CHECK(saving.status == SystemStatus::Reproduced);
}

TEST_CASE("An inequality holds or is off", "[reports]") {
  CHECK(status(Relation::AtLeast, 1.1, 1.1) == SystemStatus::Reproduced);
  CHECK(status(Relation::AtLeast, 1.1, 1.099) == SystemStatus::Off);
  CHECK(status(Relation::AtMost, 1.1, 1.0) == SystemStatus::Reproduced);
  CHECK(status(Relation::AtMost, 1.1, 1.2) == SystemStatus::Off);
  CHECK_FALSE(judge(check(Relation::AtMost, 1.1), 1.0).error);
}

TEST_CASE("A system that is not expressed says what is missing", "[reports]") {
  models::System system;
  system.id = "x";
  system.headline = "2x on eight devices of one node";
  system.missing = {"energy", "local SGD"};
  const auto one = reports::validate_system(system);
  CHECK(one.status == SystemStatus::NotExpressible);
  CHECK(one.why == "needs energy, local SGD");
  const std::string text = reports::systems_table({one});
  CHECK(text.find("x       2x on eight devices of one node          -  not expressible") !=
        std::string::npos);
  CHECK(text.find("1 systems: 0 reproduced, 0 within, 0 off, 1 not expressible") !=
        std::string::npos);
}

TEST_CASE("The status of a system is that of its worst check", "[reports]") {
  const std::string folder = std::string(PACELINE_SOURCE) + "/scenarios/systems/";
  for (models::System& system : models::read_systems(folder + "index.yaml")) {
    if (system.id != "placement-semantics") continue;
    system.checks[1].claimed = 1.6;  // 1.5 is 6 % off, and the tolerance 0.1 %
    const auto one = reports::validate_system(system);
    REQUIRE(one.checks.size() == 2);
    CHECK(one.checks[0].status == SystemStatus::Reproduced);
    CHECK(one.checks[0].predicted == 8);
    CHECK(one.checks[1].status == SystemStatus::Within);
    CHECK(one.status == SystemStatus::Within);
  }
}
