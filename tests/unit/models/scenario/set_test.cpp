// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/set.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/unit/models/scenario/replaced.hpp"

namespace fs = std::filesystem;
using paceline::base::canonical_text;
using paceline::base::find_path;
using paceline::models::MeasuredSet;
using paceline::models::read_set;

using Catch::Contains;
using Catch::StartsWith;
using tests::replaced;

namespace {

/// A set and its table in a folder of their own, removed at the end.
class SetFiles {
 public:
  SetFiles(const std::string& yaml, const std::string& csv) {
    static int count = 0;
    folder_ = fs::temp_directory_path() /
              ("paceline_set_test_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    fs::create_directories(folder_);
    std::ofstream(folder_ / "s.yaml") << yaml;
    std::ofstream(folder_ / "s.csv") << csv;
  }
  ~SetFiles() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  SetFiles(const SetFiles&) = delete;
  SetFiles& operator=(const SetFiles&) = delete;
  std::string path() const { return (folder_ / "s.yaml").string(); }
  std::string folder() const { return folder_.string() + "/"; }

 private:
  fs::path folder_;
};

std::string set_message(const std::string& yaml, const std::string& csv) {
  const SetFiles files(yaml, csv);
  try {
    read_set(files.path());
  } catch (const paceline::base::Error& error) {
    std::string text = error.what();
    for (std::size_t at = text.find(files.folder()); at != std::string::npos;
         at = text.find(files.folder()))
      text.erase(at, files.folder().size());
    return text;
  }
  return "no error";
}

const std::string kYaml = R"(set: s
source: "a paper"
table: s.csv
id: "{model} tp{tp}"
base: {model: {hidden: 8, heads: 2}, precision: fp16}
overrides:
  parallel.tp: tp
  cluster.nodes: gpus / 8
  batch.global: micro * 4
  costs.hop: "{hop_us} us"
  stage_layers: split
cases:
  model: {small: {}, large: {model: {hidden: 16}}}
measured:
  step_time_s: {value: ms / 1000, bound: {mean: 0.1, worst: 0.2}}
  fits: {value: outcome, metric: fraction, labels: {ok: 1, oom: 0}}
group_by: [gpus]
exclude:
  - {rule: "tp 4", why: "slow", where: [{tp: ">= 4", model: [large]}], count: 1, quantity: step_time_s}
)";
const std::string kCsv = R"(model,tp,gpus,micro,hop_us,split,ms,outcome
small,1,8,2,5,"[2, 1]",1500,ok
large,4,16,1,,,250,ok
large,2,16,1,,,,oom
large,2,16,1,,,,oom
)";

std::string scalar(const MeasuredSet& set, std::size_t row, const std::string& path) {
  const auto* value = find_path(set.rows[row].scenario.root, path);
  return value == nullptr ? "absent" : value->text;
}

}  // namespace

TEST_CASE("rows of a set become scenarios", "[models]") {
  const SetFiles files(kYaml, kCsv);
  const MeasuredSet set = read_set(files.path());
  REQUIRE(set.rows.size() == 4);
  CHECK(set.rows[0].id == "small tp1");
  CHECK(set.rows[3].id == "large tp2 #2");
  CHECK(set.rows[1].group == "gpus 16");
  CHECK(
      canonical_text(set.rows[0].scenario.root) ==
      "{batch: {global: 8}, cluster: {nodes: 1}, costs: {hop: 5 us}, model: {heads: 2, hidden: 8}, "
      "parallel: {tp: 1}, precision: fp16, stage_layers: [2, 1]}");
  CHECK(scalar(set, 1, "model.hidden") == "16");
  CHECK(scalar(set, 1, "cluster.nodes") == "2");
  CHECK(scalar(set, 1, "costs.hop") == "absent");
  CHECK(scalar(set, 1, "stage_layers") == "absent");
}

TEST_CASE("measured cells become numbers, empty ones stay out", "[models]") {
  const SetFiles files(kYaml, kCsv);
  const MeasuredSet set = read_set(files.path());
  CHECK(set.rows[0].measured.at("step_time_s").value == 1.5);
  CHECK(set.rows[2].measured.count("step_time_s") == 0);
  CHECK(set.rows[0].measured.at("fits").value == 1);
  CHECK(set.rows[2].measured.at("fits").value == 0);
  CHECK(set.quantities[0].bound.worst == 0.2);
  CHECK_FALSE(set.quantities[0].goal.mean);
}

TEST_CASE("an exclusion takes out its quantity only", "[models]") {
  const SetFiles files(kYaml, kCsv);
  const MeasuredSet set = read_set(files.path());
  REQUIRE(set.exclusions.size() == 1);
  CHECK(set.exclusions[0].rows == 1);
  CHECK(set.rows[1].measured.at("step_time_s").excluded_by == std::vector<int>{0});
  CHECK(set.rows[1].measured.at("fits").excluded_by.empty());
  CHECK(set.rows[0].measured.at("step_time_s").excluded_by.empty());
}

TEST_CASE("values of a row stand at its cells", "[models]") {
  const SetFiles files(kYaml, kCsv);
  const MeasuredSet set = read_set(files.path());
  const auto& scenario = set.rows[1].scenario;
  CHECK(fs::path(scenario.file).filename() == "s.csv");
  CHECK(find_path(scenario.root, "parallel.tp")->place.line == 3);
  CHECK(find_path(scenario.root, "parallel.tp")->place.column == 7);
  CHECK(find_path(scenario.root, "precision")->place.line == 3);
}

TEST_CASE("a broken set says where and what would be right", "[models]") {
  CHECK_THAT(set_message(replaced(kYaml, "tp: tp", "tp: tq"), kCsv),
             StartsWith("s.yaml:7:") && Contains("parallel.tp: s.csv has no column 'tq'"));
  CHECK_THAT(set_message(replaced(kYaml, "gpus / 8", "gpus - 8"), kCsv),
             Contains("is no expression"));
  CHECK(set_message(kYaml, replaced(kCsv, "250", "fast")) ==
        "s.csv:3:16: 'fast' is no number; write a plain decimal number or leave the cell empty");
  CHECK_THAT(set_message(kYaml, replaced(kCsv, "small,", "tiny,")),
             StartsWith("s.csv:2:1: no case for 'tiny'"));
  CHECK_THAT(set_message(kYaml, replaced(kCsv, "oom", "dead")),
             StartsWith("s.csv:4:17: 'dead' is no label of fits"));
  CHECK_THAT(set_message(replaced(kYaml, "count: 1", "count: 2"), kCsv),
             Contains("the rule takes out 1 rows, not 2"));
  CHECK_THAT(set_message(replaced(kYaml, "set: s", "set: t"), kCsv),
             StartsWith("s.yaml:1:") && Contains("a set carries the name of its file"));
  CHECK_THAT(set_message(replaced(kYaml, "table: s.csv", "table: u.csv"), kCsv),
             Contains("there is no file u.csv"));
  CHECK_THAT(set_message(replaced(kYaml, "group_by", "grupo_by"), kCsv), Contains("group_by"));
  CHECK_THAT(set_message(replaced(kYaml, "worst: 0.2", "wurst: 0.2"), kCsv), Contains("worst"));
  CHECK_THAT(set_message(replaced(kYaml, "quantity: step_time_s", "quantity: step_s"), kCsv),
             Contains("the set measures no step_s"));
  CHECK_THAT(set_message(replaced(kYaml, "gpus / 8", "gpus / micro"),
                         replaced(kCsv, "16,1,,,250", "16,0,,,250")),
             StartsWith("s.csv:3:9: value is not finite"));
}

TEST_CASE("every published set reads, with the rows its table is known for", "[models]") {
  struct Known {
    std::string name, quantity;
    int kept, all;
  };
  const std::vector<Known> known{{"megatron-sc21-table1", "step_time_s", 10, 10},
                                 {"megatron-jan2021", "step_time_s", 9, 10},
                                 {"megatron-2020-a100", "step_time_s", 8, 8},
                                 {"korthikanti-table5", "step_time_s", 8, 8},
                                 {"korthikanti-table4", "layer_ms", 5, 5},
                                 {"a100-multi-node", "step_time_s", 53, 73},
                                 {"llama-layouts", "step_time_s", 141, 157},
                                 {"llama-layouts", "fits", 438, 438},
                                 {"bloom-topology", "step_time_s", 65, 65},
                                 {"bloom-topology", "memory_GB", 44, 44},
                                 {"nemo-25.02-bf16", "step_time_s", 16, 16},
                                 {"nemo-25.02-fp8", "step_time_s", 16, 16},
                                 {"nemo-launcher-h100-fp8", "step_time_s", 10, 10},
                                 {"nemo-long-sequence", "step_time_s", 17, 17},
                                 {"llmfoundry-h100", "step_time_s", 51, 52},
                                 {"llmfoundry-a100", "step_time_s", 57, 61},
                                 {"simumax-b200-dense", "allocated_GiB", 16, 16},
                                 {"zero-bubble-throughput", "step_time_s", 24, 24}};
  for (const Known& expected : known) {
    CAPTURE(expected.name, expected.quantity);
    const MeasuredSet set = read_set(paceline::models::set_file(expected.name));
    int kept = 0, all = 0;
    for (const auto& row : set.rows) {
      const auto found = row.measured.find(expected.quantity);
      if (found == row.measured.end()) continue;
      ++all;
      kept += found->second.excluded_by.empty() ? 1 : 0;
    }
    CHECK(kept == expected.kept);
    CHECK(all == expected.all);
  }
  for (const std::string& name : paceline::models::set_names()) {
    CAPTURE(name);
    CHECK_NOTHROW(read_set(paceline::models::set_file(name)));
  }
}

TEST_CASE("an unknown set names the nearest one", "[models]") {
  CHECK_THROWS_WITH(paceline::models::set_file("megatron-sc21-table2"),
                    "unknown set 'megatron-sc21-table2': did you mean 'megatron-sc21-table1'?");
}
