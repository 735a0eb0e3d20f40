// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/e2e/run_program.hpp"

using namespace paceline::tests;
using Catch::Matchers::Contains;

namespace {

const std::string kOneGpu = PACELINE_SOURCE "/scenarios/01_gpt2_124m_1_gpu.yaml";
const std::string kDoesNotFit = PACELINE_SOURCE "/scenarios/05_llama3_70b_gpipe_16_h100.yaml";

std::vector<std::string> command_names() {
  std::vector<std::string> names;
#define PACELINE_COMMAND(name) names.emplace_back(#name);
#include "cli/commands.def"
#undef PACELINE_COMMAND
  return names;
}

/// What bash offers after the words of a line.
std::string completed(const std::string& words, int at) {
  return run_shell("bash -c 'eval \"$($PACELINE completion bash)\"; COMP_WORDS=(" + words +
                   "); COMP_CWORD=" + std::to_string(at) + "; _paceline; echo ${COMPREPLY[@]}'")
      .out;
}

}  // namespace

TEST_CASE("quiet says nothing, and the exit status is the answer", "[e2e]") {
  const Ran good = run_program("run " + kOneGpu + " --quiet");
  CHECK(good.exit_code == 0);
  CHECK(good.out + good.err == "");
  CHECK(run_program("run " + kDoesNotFit + " --quiet").exit_code == 1);
  CHECK_THAT(run_program("run " + kOneGpu + " --quiet --json -").out, Contains("step_time_s"));
  const Ran bad = run_program("run --quiet nothing.yaml");
  CHECK(bad.exit_code == 2);
  CHECK(count_lines(bad.err) == 1);
}

TEST_CASE("verbose adds a line on standard error", "[e2e]") {
  const Ran ran = run_program("run " + kOneGpu + " --verbose");
  CHECK_THAT(ran.err, Contains("run took") && Contains("specs of"));
  CHECK(ran.out == run_program("run " + kOneGpu).out);
}

TEST_CASE("nothing is coloured in a pipe", "[e2e]") {
  for (const std::string& command :
       std::vector<std::string>{"run " + kOneGpu, "compare " + kOneGpu + " " + kDoesNotFit,
                                std::string("list schedules")}) {
    CHECK(run_program(command).out.find('\033') == std::string::npos);
  }
}

TEST_CASE("bash completes commands, options and names", "[e2e]") {
  if (run_shell("bash --version").exit_code != 0) return;
  CHECK(run_shell("$PACELINE completion bash | bash -n").exit_code == 0);
  CHECK(completed("paceline swe", 1) == "sweep\n");
  CHECK(completed("paceline run --rep", 2) == "--report\n");
  CHECK(completed("paceline run x.yaml --engine s", 4) == "simgrid\n");
  CHECK(completed("paceline list sched", 2) == "schedules\n");
  for (const std::string& name : command_names()) {
    INFO(name);
    CHECK_THAT(completed("paceline \"\"", 1), Contains(name));
  }
}

TEST_CASE("every shell has its completion, and others are told which", "[e2e]") {
  CHECK_THAT(run_program("completion zsh").out, Contains("bashcompinit"));
  CHECK_THAT(run_program("completion fish").out,
             Contains("__fish_seen_subcommand_from run") && Contains("-l report"));
  const Ran ran = run_program("completion csh");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Contains("bash, zsh, fish"));
}

TEST_CASE("the manual has every command and what its help says", "[e2e]") {
  const std::string manual = run_program("man").out;
  CHECK(manual.substr(0, 13) == ".TH PACELINE ");
  for (const std::string& name : command_names()) CHECK_THAT(manual, Contains("\\fB" + name));
  CHECK_THAT(manual, Contains("\\fB\\-\\-report\\fR \\fIFILE\\fR") && Contains(".SH EXIT STATUS"));
}

TEST_CASE("a report without a chart library says what to install and leaves no file", "[e2e]") {
  for (const std::string& command :
       std::vector<std::string>{"run " + kOneGpu, "compare " + kOneGpu + " " + kOneGpu,
                                "sweep " + kOneGpu + " --over batch.micro=1,2"}) {
    const Ran ran = run_shell("cd $(mktemp -d) && PACELINE_CHART_JS=/none $PACELINE " + command +
                              " --report r.html; echo $?; ls");
    CHECK(ran.out == "3\n");
    CHECK(count_lines(ran.err) == 1);
    CHECK_THAT(ran.err, Contains("libjs-chart.js"));
  }
}

TEST_CASE("a sweep of chosen points is the same whatever the number of processes", "[e2e]") {
  const std::string sweep = "sweep " + kOneGpu +
                            " --over batch.micro=1,2,4,8 --over batch.sequence=256,512,1024 "
                            "--where 'micro * sequence <= 2048' --sample latin:8 --seed 3 "
                            "--pareto time,memory,energy --json -";
  const Ran one = run_program(sweep + " --jobs 1");
  CHECK(one.exit_code == 0);
  CHECK_THAT(one.out,
             Contains("\"pareto_of\": [\"step_time_s\", \"reserved_bytes\", \"step_j\"]") &&
                 Contains("--sample latin:8 --seed 3 --pareto time,memory,energy"));
  CHECK(run_program(sweep + " --jobs 2").out == one.out);
  CHECK(run_program(sweep + " --where 'micro >'").exit_code == 2);
}
