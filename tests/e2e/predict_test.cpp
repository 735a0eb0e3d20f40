// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/config.hpp"
#include "tests/e2e/run_program.hpp"

using paceline::base::find_path;
using paceline::base::parse_json;
using paceline::base::Value;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {

const std::string kSmall = PACELINE_SOURCE "/tests/e2e/good/small.yaml";

/// Runs commands in a fresh folder that is the caller's current one.
Ran in_folder(const std::string& commands) {
  return run_shell("d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT; cd \"$d\"; S='" + kSmall + "'\n" +
                   commands);
}

double number(const Value& root, const char* path) {
  const Value* value = find_path(root, path);
  INFO(path);
  REQUIRE(value != nullptr);
  return std::strtod(value->text.c_str(), nullptr);
}

Value result(const std::string& options = "") {
  const Ran ran = run_program("run '" + kSmall + "' --json - " + options);
  INFO(ran.err);
  REQUIRE(ran.exit_code <= 1);
  REQUIRE(ran.err.empty());
  return parse_json(ran.out, "result").root;
}

}  // namespace

TEST_CASE("run prints one screen of answer", "[e2e]") {
  const Ran ran = run_program("run '" + kSmall + "'");
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  CHECK(count_lines(ran.out) <= 45);
  CHECK(ran.out.find('\033') == std::string::npos);
  for (const char* part : {"Small GPT on 16 A100", "Step time", "tokens/s", "MFU", "Where the time",
                           "Memory", "fits", "dropout is not stated: none", "engine reference"}) {
    INFO(part);
    CHECK(ran.out.find(part) != std::string::npos);
  }
}

TEST_CASE("every example runs, can be checked and stays on one screen", "[e2e]") {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PACELINE_SOURCE "/scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    ++examples;
    const std::string file = "'" + entry.path().string() + "'";
    const Ran ran = run_program("run " + file);
    INFO(file << ran.out << ran.err);
    CHECK(ran.exit_code <= 1);
    CHECK((ran.exit_code == 1) == (ran.out.find("DOES NOT FIT") != std::string::npos));
    CHECK(ran.err.empty());
    CHECK(count_lines(ran.out) <= 45);
    CHECK(run_program("check " + file).exit_code == 0);
  }
  CHECK(examples >= 5);
}

TEST_CASE("a scenario that states every part is read, run and printed so that it reads back",
          "[e2e]") {
  const std::string file = "'" PACELINE_SOURCE "/tests/e2e/good/every_key.yaml'";
  const Ran ran = run_program("run " + file);
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  for (const char* part : {" tokens take ", " device-hours", "run.price 'on-demand'",
                           "selective recompute not stated"}) {
    INFO(part);
    CHECK(ran.out.find(part) != std::string::npos);
  }
  const Value root = parse_json(run_program("run " + file + " --json -").out, "result").root;
  CHECK(number(root, "run.time_s") == Approx(1e12 / number(root, "tokens_per_s")));
  CHECK(find_path(root, "cost") == nullptr);
  // Beside the model file: its path is relative to the scenario.
  const Ran again = in_folder(
      "cp '" PACELINE_SOURCE
      "/scenarios/models/llama-3.1-70b.json' .\n"
      "\"$PACELINE\" check " +
      file +
      " --set model.huggingface=" PACELINE_SOURCE
      "/scenarios/models/llama-3.1-70b.json >a.yaml\n"
      "\"$PACELINE\" check a.yaml >b.yaml && grep -v '^#' a.yaml >a && grep -v '^#' b.yaml >b && "
      "grep '^compression: \\[\\]$' a && cmp a b && echo same");
  INFO(again.err);
  CHECK(again.out == "compression: []\nsame\n");
}

TEST_CASE("check shows a mixture of experts, run predicts it", "[e2e]") {
  const std::string setting = "'" + kSmall + "' --set model=\"{huggingface: $M}\" " +
                              "--set parallel=\"{tp: 2, ep: 8, sequence_parallel: true}\" " +
                              "--set attention=flash-2";
  const std::string model = "M='" PACELINE_SOURCE "/tests/data/models/mixtral-8x7b.json'\n";
  const Ran ran = in_folder(model + "\"$PACELINE\" check " + setting +
                            " >a.yaml && \"$PACELINE\" check a.yaml >b.yaml && cat a.yaml && "
                            "grep -v '^#' a.yaml >a && grep -v '^#' b.yaml | cmp - a");
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  for (const char* part : {"2 of 8 experts (SwiGLU of 14336)", "46,702,792,704",
                           "active 12,879,925,248", "ep: 8", "etp: 1", "all-to-all"}) {
    INFO(part);
    CHECK(ran.out.find(part) != std::string::npos);
  }
  const Ran json = run_shell(model + "\"$PACELINE\" run " + setting + " --json -");
  const Value root = parse_json(json.out, "run").root;
  CHECK(number(root, "breakdown_s.exposed_ep") > 0);
}

TEST_CASE("an interrupted run leaves no file, whole or half", "[e2e]") {
  for (const auto& [signal, status] : {std::pair{"INT", "130"}, {"TERM", "143"}, {"HUP", "129"}}) {
    // Interrupted once both files have begun to grow. Shells start what runs beside them deaf to
    // INT, hence env.
    const Ran ran = in_folder(
        std::string(
            "env --default-signal \"$PACELINE\" run "
            "'" PACELINE_SOURCE "/scenarios/12_gpt_1t_3072_a100.yaml' "
            "--json r.json --trace t.json >/dev/null & pid=$!\n"
            "while kill -0 $pid && [ $(find . -type f -size +0 | wc -l) -lt 2 ]; do :; done\n"
            "kill -s ") +
        signal + " $pid; wait $pid; echo \"$? $(ls -A)\"");
    INFO(signal << ": " << ran.err);
    CHECK(ran.out == status + std::string(" \n"));
  }
}

TEST_CASE("the printed command reproduces the answer byte for byte", "[e2e]") {
  const Ran ran = in_folder(
      "cp \"$S\" 'my case.yaml'\n"
      "\"$PACELINE\" run 'my case.yaml' --set batch.global=64 --json a.json >first\n"
      "grep '^Reproduce' first | sed 's/^Reproduce *paceline//' >command\n"
      "eval \"\\\"\\$PACELINE\\\" $(cat command)\" >second\n"
      "cmp first second && \"$PACELINE\" run 'my case.yaml' --set batch.global=64 --json - | cmp - "
      "a.json && echo same");
  INFO(ran.err);
  CHECK(ran.out == "same\n");
}

TEST_CASE("the breakdown of a real prediction adds up to its step time", "[e2e]") {
  const Value root = result();
  double sum = 0;
  for (const auto& field : find_path(root, "breakdown_s")->fields) {
    sum += std::strtod(field.value.text.c_str(), nullptr);
  }
  CHECK(sum == Approx(number(root, "step_time_s")).epsilon(1e-9));
  CHECK(number(root, "tokens_per_s") * number(root, "step_time_s") == Approx(32 * 2048));
  CHECK(number(root, "step_time_band_s.0") <= number(root, "step_time_s"));
  CHECK(number(root, "step_time_s") <= number(root, "step_time_band_s.1"));
  CHECK(number(root, "mfu") > 0);
  CHECK(number(root, "mfu") < 1);
}

TEST_CASE("memory parts of a real prediction add up to the allocated peak", "[e2e]") {
  const Value root = result();
  for (const auto& item : find_path(root, "memory.per_rank")->items) {
    double sum = 0;
    for (const auto& field : find_path(item, "parts_bytes")->fields) {
      sum += std::strtod(field.value.text.c_str(), nullptr);
    }
    CHECK(sum == Approx(number(item, "peak_bytes")).epsilon(1e-9));
    CHECK(number(item, "peak_bytes") <= number(item, "reserved_bytes"));
  }
}

TEST_CASE("what does not fit exits with 1 and still prints the answer", "[e2e]") {
  const Ran ran = run_program("run '" + kSmall +
                              "' --set batch.micro=16 --set batch.global=512 --set "
                              "batch.sequence=16384 --set parallel.tp=1");
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 1);
  CHECK(ran.err.empty());
  CHECK(ran.out.find("DOES NOT FIT: rank ") != std::string::npos);
  CHECK(ran.out.find("Step time") != std::string::npos);
}

TEST_CASE("run writes JSON, trace and picture together", "[e2e]") {
  const Ran ran = in_folder(
      "\"$PACELINE\" run \"$S\" --json r.json --trace t.json --picture p.svg >text && ls -A | tr "
      "'\\n' ' '\ncat t.json");
  REQUIRE(ran.err.empty());
  const std::string names = "p.svg r.json t.json text ";
  REQUIRE(ran.out.starts_with(names));
  const auto trace = parse_json(ran.out.substr(names.size()), "trace");
  const Value* events = find_path(trace.root, "traceEvents");
  REQUIRE(events != nullptr);
  const auto phase = [&](const char* name) {
    return std::count_if(events->items.begin(), events->items.end(),
                         [&](const Value& event) { return find_path(event, "ph")->text == name; });
  };
  CHECK(phase("X") > 30);
  CHECK(phase("s") > 0);
  CHECK(phase("s") == phase("f"));
  CHECK(phase("C") > 0);
}

TEST_CASE("no output appears when one of them cannot be written", "[e2e]") {
  const Ran ran = in_folder(
      "\"$PACELINE\" run \"$S\" --json r.json --trace missing/t.json; echo \"$? $(ls -A)\"");
  CHECK(ran.out == "2 \n");
  CHECK(count_lines(ran.err) == 1);
  const Ran full = in_folder(
      "\"$PACELINE\" run \"$S\" --json r.json --trace /dev/full >text; echo \"$? $(ls -A)\"");
  CHECK(full.out == "2 text\n");
  CHECK(count_lines(full.err) == 1);
}

TEST_CASE("a closed or vanished standard output is survived", "[e2e]") {
  CHECK(run_shell("\"$PACELINE\" run '" + kSmall + "' >&-").exit_code <= 2);
  CHECK(run_shell("{ \"$PACELINE\" run '" + kSmall + "'; echo $? >&3; } 3>&2 | true").err == "0\n");
  const Ran ran = in_folder("\"$PACELINE\" run \"$S\" --json r.json >&- 2>/dev/null; cat r.json");
  CHECK(find_path(parse_json(ran.out, "r.json").root, "step_time_s") != nullptr);
}

TEST_CASE("check prints defaults, counts and assumptions, as text and JSON", "[e2e]") {
  const Ran ran = run_program("check '" + kSmall + "'");
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  for (const char* part : {"# Small GPT on 16 A100", "dropout is not stated: none",
                           "recompute:", "optimizer:", "dp: 2", "stages of 8 layers"}) {
    INFO(part);
    CHECK(ran.out.find(part) != std::string::npos);
  }
  const Ran json = run_program("check '" + kSmall + "' --set parallel.dp=1 --json -");
  REQUIRE(json.exit_code == 0);
  const Value root = parse_json(json.out, "check").root;
  CHECK(number(root, "devices") == 8);
  CHECK(number(root, "resolved.parallel.dp") == 1);
  CHECK(number(root, "model.parameters") > 1e9);
}

TEST_CASE("compare reads scenarios and result files and agrees with both", "[e2e]") {
  const Ran ran = in_folder(
      "\"$PACELINE\" run \"$S\" --set batch.global=64 --json big.json >/dev/null\n"
      "\"$PACELINE\" compare \"$S\" big.json --json -");
  INFO(ran.err);
  REQUIRE(ran.exit_code == 0);
  const Value root = parse_json(ran.out, "comparison").root;
  CHECK(find_path(root, "quantities.0.name")->text == "step_time_s");
  CHECK(number(root, "quantities.0.values.0") == number(result(), "step_time_s"));
  CHECK(number(root, "quantities.0.values.1") ==
        number(result("--set batch.global=64"), "step_time_s"));
  CHECK(number(root, "quantities.0.ratio.1") > 1.5);
  const Ran text = run_program("compare '" + kSmall + "' '" + kSmall + "'");
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("x1.000") != std::string::npos);
}

TEST_CASE("compare refuses broken result files with one line", "[e2e]") {
  const Ran ran = in_folder(
      "\"$PACELINE\" run \"$S\" --json r.json >/dev/null\n"
      "sed 's/paceline-result-1/paceline-result-7/' r.json >other.json\n"
      "head -c 400 r.json >cut.json\n"
      "sed 's/\"mfu\"/\"mfoo\"/' r.json >key.json\n"
      "for f in other cut key; do \"$PACELINE\" compare r.json $f.json 2>err; echo \"$? $(wc -l "
      "<err) $(cat err)\"; done");
  INFO(ran.out);
  CHECK(count_lines(ran.out) == 3);
  CHECK(ran.out.starts_with("2 1 paceline: other.json:"));
  CHECK(ran.out.find("\n2 1 paceline: cut.json:") != std::string::npos);
  CHECK(ran.out.find("\n2 1 paceline: key.json") != std::string::npos);
}

TEST_CASE("the help of run, check and compare explains and gives examples", "[e2e]") {
  for (const std::string command : {"run", "check", "compare"}) {
    const Ran ran = run_program(command + " --help");
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("Examples:\n  paceline " + command) != std::string::npos);
    CHECK(count_lines(ran.out) >= 12);
  }
}

TEST_CASE("a job over sites is held up by the way between them", "[e2e]") {
  const std::string sites = PACELINE_SOURCE "/tests/e2e/good/sites.yaml";
  const auto step = [&](const std::string& options) {
    const Ran ran = run_program("run '" + sites + "' " + options + " --json -");
    REQUIRE(ran.exit_code == 0);
    return number(parse_json(ran.out, "result").root, "step_time_s");
  };
  CHECK(step("") > 5 * step("--set cluster.fabric=switch"));
}
