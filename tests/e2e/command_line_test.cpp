// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "tests/e2e/run_copy.hpp"

using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_copy;
using paceline::tests::run_program;
using paceline::tests::run_shell;

TEST_CASE("help and version answer on standard output", "[cli]") {
  for (const char* arguments : {"", "--help", "-h", "list --help"}) {
    INFO(arguments);
    const Ran ran = run_program(arguments);
    CHECK(ran.exit_code == 0);
    CHECK(ran.err.empty());
    CHECK(ran.out.find("list ") != std::string::npos);
  }
  CHECK(run_program("list --help").out.find("Usage: paceline list") != std::string::npos);
  CHECK(run_program("--version").out.starts_with("paceline "));
}

TEST_CASE("bad arguments end with exit code 2 and one line that says what would be right",
          "[cli]") {
  const std::pair<const char*, const char*> cases[] = {
      {"lits", "did you mean 'list'?"},
      {"zzzzzz", "unknown command 'zzzzzz'; one of "},
      {"--versoin", "did you mean '--version'?"},
      {"list --jsn x", "did you mean '--json'?"},
      {"list devices a10 more", "unexpected argument 'more'"},
      {"list devices --json", "--json"},
      {"list devises", "did you mean 'devices'?"},
      {"list devices h100-smx", "did you mean 'h100-sxm'?"},
      {"list schedules gpip", "did you mean 'gpipe'?"},
      {"list devices --json /no/such/folder/x.json", "/no/such/folder"},
      {"list devices \"$(printf 'a\\001b\\nc')\"", "unknown device"},
      {"list devices ''", "unknown device ''"},
  };
  for (const auto& [arguments, expected] : cases) {
    INFO(arguments);
    const Ran ran = run_program(arguments);
    INFO(ran.err);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(count_lines(ran.err) == 1);
    CHECK(ran.err.starts_with("paceline: "));
    CHECK(ran.err.find(expected) != std::string::npos);
  }
}

TEST_CASE("everything list names can be shown, as text and as JSON", "[cli]") {
  const auto json = [](std::vector<std::string> words) {
    words.insert(words.begin(), "list");
    words.insert(words.end(), {"--json", "-"});
    const Ran ran = run_copy(words);
    INFO(words.back() << ": " << ran.err);
    REQUIRE(ran.exit_code == 0);
    return paceline::base::parse_json(ran.out, "list").root;
  };
  const auto text_at = [](const paceline::base::Value& map, const char* key) {
    const paceline::base::Value* value = paceline::base::find_path(map, key);
    REQUIRE(value != nullptr);
    return value->text;
  };
  const auto kinds = json({});
  for (const auto& kind : paceline::base::find_path(kinds, "kinds")->items) {
    const std::string kind_name = text_at(kind, "name");
    const auto entries = json({kind_name});
    const auto& items = paceline::base::find_path(entries, "entries")->items;
    CHECK(std::to_string(items.size()) == text_at(kind, "count"));
    REQUIRE_FALSE(items.empty());
    for (const auto& item : items) {
      const std::string name = text_at(item, "name");
      INFO(kind_name << " " << name);
      CHECK_FALSE(text_at(item, "summary").empty());
      if (&item != &items.front() && &item != &items.back()) continue;  // a process each
      CHECK(text_at(json({kind_name, name}), "name") == name);
      CHECK_FALSE(run_copy({"list", kind_name, name}).out.empty());
    }
  }
}

TEST_CASE("a reader that goes away changes nothing, a full disk is an error", "[cli]") {
  CHECK(run_shell("\"$PACELINE\" list clusters | true; exit 0").err.empty());
  CHECK(run_shell("{ \"$PACELINE\" list clusters; echo $? >&3; } 3>&2 | true").err == "0\n");
  const Ran full = run_program("list clusters >/dev/full");
  CHECK(full.exit_code == 2);
  CHECK(full.err.find("standard output") != std::string::npos);
  CHECK(count_lines(full.err) == 1);
}

TEST_CASE("list clusters NAME tells of the network and draws it", "[e2e]") {
  const auto text = run_program("list clusters torus-4x4x4");
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("fabric: torus of 4 x 4 x 4, 192 vertices, 640 wires, bisection 1.60 TB/s") !=
        std::string::npos);
  const auto dot = run_program("list clusters frontier --dot");
  CHECK(dot.exit_code == 0);
  CHECK(dot.out.starts_with("digraph fabric {"));
  CHECK(dot.out.find("\"group0\" -> \"group1\"") != std::string::npos);
  CHECK(run_program("list devices a100-pcie --dot").exit_code == 2);
  CHECK(run_program("list clusters --dot").exit_code == 2);
  if (run_shell("command -v dot").exit_code != 0) return;  // Graphviz is not everywhere
  CHECK(run_shell("'" PACELINE_BINARY "' list clusters eos --dot | dot -Tsvg").exit_code == 0);
}

TEST_CASE("an answer says how closely transfers were simulated", "[cli]") {
  const std::string file =
      std::string("'") + PACELINE_SOURCE + "/scenarios/06_llama3_70b_64_h100.yaml'";
  const auto ask = [&](const std::string& options) {
    return run_program("run " + file + " --json - " + options);
  };
  CHECK(ask("--fidelity alpha-beta").out == ask("").out);
  const Ran fluid = ask("--engine simgrid");
  if (fluid.exit_code == 3) return;  // no SimGrid
  CHECK(fluid.out.find("\"fidelity\": \"fluid\"") != std::string::npos);
  CHECK(ask("--engine simgrid --fidelity fluid").out == fluid.out);
  for (const std::string name : {"chunk", "alpha-beta"}) {
    const Ran ran = ask("--engine simgrid --fidelity " + name);
    CHECK(ran.out.find("\"fidelity\": \"" + name + "\"") != std::string::npos);
    CHECK(ran.out.find("--engine simgrid --fidelity " + name + "\"") != std::string::npos);
  }
}

TEST_CASE("what a run to so many tokens costs is one flag", "[cli]") {
  const std::string scenario = "'" PACELINE_SOURCE "/scenarios/02_llama3_8b_8_h100.yaml' ";
  const Ran flag = run_program("run " + scenario +
                               "--tokens 1e12 --set run.price=on-demand --set "
                               "run.provider=aws --json -");
  const Ran set = run_program("run " + scenario +
                              "--set run.price=on-demand --set run.provider=aws "
                              "--set run.tokens=1e12 --json -");
  CHECK(flag.exit_code == 0);
  CHECK(flag.out == set.out);
  CHECK(flag.out.find("\"run_usd\"") != std::string::npos);
  CHECK(run_program("run " + scenario + "--tokens -5").exit_code == 2);
}
