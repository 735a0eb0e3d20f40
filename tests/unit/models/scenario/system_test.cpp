// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/system.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tests/unit/models/scenario/replaced.hpp"

namespace fs = std::filesystem;
using namespace paceline;

using Catch::Contains;
using Catch::StartsWith;
using tests::replaced;

namespace {

const std::string kEntry =
    "systems:\n"
    "  - {id: one, title: t, headline: h, claim: c, source: s}\n";
const std::string kSystem =
    "system: one\n"
    "predict:\n"
    "  a: base.yaml\n"
    "  b: {scenario: base.yaml, with: {parallel: {tp: 2}}}\n"
    "checks:\n"
    "  - {quantity: speed-up, expression: a.step_time_s / b.step_time_s, value: 1.5}\n"
    "why: because\n";
const std::string kScenario = "name: n\nparallel: {tp: 1, pp: 4}\n";

/// An index and one system in a folder of their own, removed at the end.
class SystemFiles {
 public:
  explicit SystemFiles(const std::string& index, const std::string& system = kSystem) {
    static int count = 0;
    folder_ = fs::temp_directory_path() / ("paceline_system_test_" + std::to_string(::getpid()) +
                                           "_" + std::to_string(++count));
    fs::create_directories(folder_);
    std::ofstream(path()) << index;
    if (system.empty()) return;
    fs::create_directories(folder_ / "one");
    std::ofstream(folder_ / "one/system.yaml") << system;
    std::ofstream(folder_ / "one/base.yaml") << kScenario;
  }
  ~SystemFiles() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  SystemFiles(const SystemFiles&) = delete;
  SystemFiles& operator=(const SystemFiles&) = delete;
  std::string path() const { return (folder_ / "index.yaml").string(); }
  std::string folder() const { return folder_.string() + "/"; }

 private:
  fs::path folder_;
};

std::string system_message(const std::string& index, const std::string& system = kSystem) {
  const SystemFiles files(index, system);
  try {
    models::read_systems(files.path());
  } catch (const base::Error& error) {
    std::string text = error.what();
    for (std::size_t at = text.find(files.folder()); at != std::string::npos;
         at = text.find(files.folder()))
      text.erase(at, files.folder().size());
    return text;
  }
  return "no error";
}

std::string with_check(const std::string& rest) { return replaced(kSystem, "value: 1.5", rest); }

}  // namespace

TEST_CASE("A system is read with its scenarios changed and its checks parsed", "[models]") {
  const SystemFiles files(kEntry);
  const auto systems = models::read_systems(files.path());
  REQUIRE(systems.size() == 1);
  const models::System& system = systems.front();
  REQUIRE(system.runs.size() == 2);
  CHECK(base::find_path(system.runs[0].scenario.root, "parallel.tp")->text == "1");
  CHECK(base::find_path(system.runs[1].scenario.root, "parallel.tp")->text == "2");
  CHECK(base::find_path(system.runs[1].scenario.root, "parallel.pp")->text == "4");
  REQUIRE(system.checks.size() == 1);
  CHECK(system.checks[0].relation == models::Relation::Value);
  CHECK(system.checks[0].claimed == 1.5);
  CHECK(system.columns.header.size() == 2 * models::system_quantities().size());
}

TEST_CASE("Changes to a scenario are named where they stand", "[models]") {
  const SystemFiles files(kEntry);
  const auto systems = models::read_systems(files.path());
  const base::Document& changed = systems[0].runs[1].scenario;
  const base::Value* tp = base::find_path(changed.root, "parallel.tp");
  CHECK_THAT(base::place_text(changed, tp->place), Catch::EndsWith("one/system.yaml:4:50"));
}

TEST_CASE("An index that does not add up is refused", "[models]") {
  CHECK_THAT(system_message("systems: {}\n"), StartsWith("index.yaml:1:10"));
  CHECK_THAT(system_message(kEntry + "other: 1\n"), Contains("other"));
  CHECK_THAT(system_message(replaced(kEntry, "id: one", "id: ../one")), Contains("is no name"));
  CHECK_THAT(system_message(replaced(kEntry, "claim: c, ", "")), Contains("claim"));
  CHECK_THAT(system_message(replaced(kEntry, "claim: c", "claim: \"\"")), Contains("is empty"));
  CHECK_THAT(system_message(replaced(kEntry, "claim: c", "claim: \"a\\nb\"")),
             Contains("line break"));
  CHECK_THAT(system_message(replaced(kEntry, "headline: h", "headline: " + std::string(61, 'h'))),
             Contains("longer than 60 bytes"));
  CHECK_THAT(system_message(kEntry + "  - {id: one, title: t, headline: h, claim: c, source: s}\n"),
             Contains("'one' is there twice"));
  CHECK_THAT(system_message(replaced(kEntry, "source: s", "source: s, missing: [local sdg]"), ""),
             Contains("did you mean 'local SGD'?"));
}

TEST_CASE("A system has either scenarios or something missing", "[models]") {
  CHECK_THAT(system_message(kEntry, ""), Contains("there is no one/system.yaml"));
  CHECK_THAT(system_message(replaced(kEntry, "source: s", "source: s, missing: [energy]")),
             Contains("has one/system.yaml all the same"));
  const std::string other = replaced(kEntry, "id: one", "id: two");
  CHECK_THAT(system_message(replaced(other, "source: s", "source: s, missing: [energy]")),
             StartsWith("one: the index does not list this system"));
}

TEST_CASE("A system file that does not add up is refused", "[models]") {
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "system: one", "system: two")),
             StartsWith("one/system.yaml:1:9"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "a: base.yaml", "a: ../one/base.yaml")),
             Contains("beside this one"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "a: base.yaml", "a: gone.yaml")),
             Contains("there is no file one/gone.yaml"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "  a:", "  1e5:")),
             Contains("begins with a digit"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "a: base.yaml", "a.b: base.yaml")),
             Contains("is no name"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "with: {parallel: {tp: 2}}", "with: 3")),
             Contains("is no map"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "why: because", "")), Contains("why"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "b.step_time_s", "b.step_time")),
             Contains("did you mean 'b.step_time_s'?"));
  CHECK_THAT(system_message(kEntry, replaced(kSystem, "a.step_time_s / b.step_time_s", "1 / 2")),
             Contains("names no quantity of a prediction"));
}

TEST_CASE("A check has exactly one figure, in range", "[models]") {
  CHECK_THAT(system_message(kEntry, with_check("tolerance: 0.01")),
             Contains("0 published figures"));
  CHECK_THAT(system_message(kEntry, with_check("value: 1, gain: 1")),
             Contains("2 published figures"));
  for (const char* figure : {"value: 0", "value: -1", "value: .nan", "value: 1e99", "gain: x"})
    CHECK_THAT(system_message(kEntry, with_check(figure)), StartsWith("one/system.yaml:6"));
  CHECK_THAT(system_message(kEntry, with_check("value: 1, tolerance: 0.06")),
             Contains("tolerance"));
  CHECK_THAT(system_message(kEntry, with_check("value: 1, band: 0.9")), Contains("band"));
  CHECK_THAT(system_message(kEntry, with_check("value: 1, bund: 0.1")),
             Contains("did you mean 'band'?"));
}

TEST_CASE("The index holds 100 systems, each once", "[models]") {
  const auto systems = models::read_systems(models::systems_file());
  std::set<std::string> ids;
  for (const models::System& system : systems) ids.insert(system.id);
  CHECK(systems.size() == 100);
  CHECK(ids.size() == 100);
}

TEST_CASE("Missing capabilities are distinct", "[models]") {
  const auto known = models::missing_capabilities();
  CHECK(std::set<std::string_view>(known.begin(), known.end()).size() == known.size());
}
