// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/config.hpp"
#include "tests/e2e/run_copy.hpp"
#include "tests/temporary_folder.hpp"

namespace fs = std::filesystem;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_copy;
using paceline::tests::run_program;

namespace {

const std::string kTwoRegions = "'" PACELINE_SOURCE "/scenarios/jobs/two_regions.yaml'";

std::string expected_of_jobs(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const std::string mark = "# expect: ";
  return line.starts_with(mark) ? line.substr(mark.size()) : "";
}

}  // namespace

TEST_CASE("jobs prints a row per policy within 80 columns, and the same again", "[e2e]") {
  const Ran ran = run_program("jobs " + kTwoRegions + " --each");
  INFO(ran.err);
  REQUIRE(ran.exit_code == 0);
  for (const char* policy : {"\nfcfs ", "\nshortest-first ", "\nlcf ", "\ncr-lcf ", "\nbace-pipe "})
    CHECK(ran.out.find(policy) != std::string::npos);
  std::size_t begin = 0;
  while (begin < ran.out.size()) {
    const std::size_t end = ran.out.find('\n', begin);
    if (ran.out.compare(begin, 9, "paceline ") != 0) CHECK(end - begin <= 80);
    begin = end + 1;
  }
  CHECK(run_program("jobs " + kTwoRegions + " --each --jobs 1").out == ran.out);
}

TEST_CASE("jobs writes JSON whose parts add up, CSV and a picture", "[e2e]") {
  const scratch::Folder folder;
  const std::string csv = (folder.path() / "j.csv").string(),
                    picture = (folder.path() / "j.svg").string();
  const Ran ran = run_program("jobs " + kTwoRegions + " --json - --csv '" + csv + "' --picture '" +
                              picture + "'");
  REQUIRE(ran.exit_code == 0);
  const auto document = paceline::base::parse_json(ran.out, "answer");
  const auto text = [&](const std::string& path) {
    const auto* value = paceline::base::find_path(document.root, path);
    REQUIRE(value != nullptr);
    return value->text;
  };
  CHECK(text("schema") == "paceline-jobs-1");
  double total = 0;
  for (int j = 0; j < 5; ++j)
    total += std::stod(
        text("first_instance.policies.0.jobs." + std::to_string(j) + ".runs.0.cost_usd.total"));
  CHECK(total == Approx(std::stod(text("first_instance.policies.0.cost_usd"))));
  CHECK(fs::file_size(picture) > 2000);
  std::ifstream rows(csv);
  std::string all((std::istreambuf_iterator<char>(rows)), {});
  CHECK(count_lines(all) == 1 + 5);
}

TEST_CASE("every malformed jobs file ends with exit code 2 and one line that names the fault",
          "[e2e]") {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(PACELINE_SOURCE "/tests/e2e/bad_jobs")) {
    INFO(entry.path().filename().string());
    const std::string expected = expected_of_jobs(entry.path());
    REQUIRE_FALSE(expected.empty());
    const Ran ran = run_copy({"jobs", entry.path().string()});
    INFO(ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(count_lines(ran.err) == 1);
    CHECK(ran.err.find(expected) != std::string::npos);
    ++files;
  }
  CHECK(files >= 46);
}

TEST_CASE("jobs ends with 1 where something expected does not show or a job never ends", "[e2e]") {
  const scratch::Folder folder;
  const fs::path picture = folder.path() / "j.svg";
  const auto run = [&](const std::string& rest) {
    const fs::path file = folder.path() / "j.yaml";
    std::ofstream(file) << "name: t\nregions: [{name: a, devices: 4, electricity: 1 USD/kWh}]\n"
                           "power: {active: 1 W, idle: 1 W}\nwork: {microbatches: 4, split: any}\n"
                           "policies: [lcf, ldf]\n"
                        << rest;
    return run_program("jobs '" + file.string() + "' --picture '" + picture.string() + "'");
  };
  const std::string one = "kinds: [{name: k, forward: 1 s}]\njobs: [{kind: k, steps: 1}]\n";
  CHECK(run(one + "expect: [{that: lcf.jct / ldf.jct, most: 1}]\n").exit_code == 0);
  const Ran wrong = run(one + "expect: [{that: lcf.jct / ldf.jct, least: 2}]\n");
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.out.find("DOES NOT HOLD: lcf.jct / ldf.jct = 1.00") != std::string::npos);
  const Ran never =
      run("kinds: [{name: k, forward: 1 s, least: 5}]\njobs: [{kind: k, steps: 1}]\n");
  CHECK(never.exit_code == 1);
  CHECK(never.out.find("a job never ends") != std::string::npos);
  CHECK(never.out.find("job 1 never ends: it needs at least 5 devices; the largest region has 4") !=
        std::string::npos);
  std::ifstream drawn(picture);
  const std::string svg((std::istreambuf_iterator<char>(drawn)), {});
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(svg.size() > 500);
}

TEST_CASE("list policies shows what each does", "[e2e]") {
  const Ran ran = run_program("list policies");
  CHECK(ran.exit_code == 0);
  CHECK(count_lines(ran.out) == 10);
  CHECK(run_program("list policies bace-pipe").out.find("do not stall") != std::string::npos);
}

TEST_CASE("a kind's scenario counts with its power, or says what it cannot", "[e2e]") {
  const scratch::Folder folder;
  const auto run = [&](const std::string& more) {
    std::ifstream from(PACELINE_SOURCE "/scenarios/jobs/llama3_70b_pipeline.yaml");
    std::ofstream(folder.path() / "kind.yaml") << from.rdbuf() << more;
    const fs::path file = folder.path() / "j.yaml";
    std::ofstream(file) << "name: t\nregions: [{name: a, devices: 64, electricity: 1 USD/kWh}]\n"
                           "power: {device: h100-sxm}\nkinds: [{name: k, scenario: kind.yaml}]\n"
                           "policies: [lcf]\njobs: [{kind: k, steps: 10}]\n";
    return run_program("jobs '" + file.string() + "' --each --json -");
  };
  const auto figure = [&](const Ran& ran, const char* key) {
    INFO(ran.err);
    REQUIRE(ran.exit_code == 0);
    const auto document = paceline::base::parse_json(ran.out, "answer");
    const auto* value = paceline::base::find_path(
        document.root, std::string("first_instance.policies.0.jobs.0.runs.0.") + key);
    REQUIRE(value != nullptr);
    return std::stod(value->text);
  };
  const Ran full = run("");
  for (const char* power : {"power: {cap: 400 W}\n", "power: {clock: 0.7}\n"}) {
    INFO(power);
    const Ran less = run(power);
    CHECK(figure(less, "finish_s") > figure(full, "finish_s"));
    CHECK(figure(less, "energy_J") < figure(full, "energy_J"));
    CHECK(figure(less, "energy_J") <
          figure(less, "device_s") * (power[8] == 'c' && power[9] == 'a' ? 400 : 700));
  }
  CHECK(figure(full, "path.0.devices") == 64);
  for (const char* unused : {"power: {slack: true}\n", "jitter: {compute: {sigma: 0.05}}\n",
                             "failures: {node_mtbf: 5 years}\n", "outer: {every: 10}\n"}) {
    const Ran ran = run(unused);
    INFO(unused << ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(count_lines(ran.err) == 1);
    CHECK(ran.err.find("kind.yaml:11:") != std::string::npos);
  }
}
