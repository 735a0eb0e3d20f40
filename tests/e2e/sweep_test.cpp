// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "base/config.hpp"
#include "kernels/collective/mpi.hpp"
#include "tests/e2e/run_program.hpp"

using namespace paceline;
using Catch::Matchers::Contains;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {

const std::string kGpt = "'" PACELINE_SOURCE "/scenarios/01_gpt2_124m_1_gpu.yaml'";
const std::string kLlama8b = "'" PACELINE_SOURCE "/scenarios/02_llama3_8b_8_h100.yaml'";
const std::string kInFolder = "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && ";
const std::string kGrid = kLlama8b + " --over parallel.zero=0,2,3,4 --over batch.micro=1,2";

std::string sweep(const std::string& arguments) { return "\"$PACELINE\" sweep " + arguments; }

}  // namespace

TEST_CASE("sweep: a row a point, infeasible and wrong ones with their reason", "[cli][sweep]") {
  const Ran ran = run_program("sweep " + kGrid);
  CHECK(ran.exit_code == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Contains("8 points over parallel.zero, batch.micro: 2 fit, 4 do not fit, 2 "
                               "bad input") &&
                          Contains("\n*      2      1") && Contains("'4' is out of range") &&
                          Contains("--set parallel.zero=2 --set batch.micro=1"));
}

TEST_CASE("sweep: a point says what run --set says", "[cli][sweep]") {
  const Ran ran = run_program("sweep " + kLlama8b + " --over parallel.zero=2,3 --json -");
  REQUIRE(ran.exit_code == 0);
  const base::Document sweep = base::parse_json(ran.out, "sweep.json");
  const base::Document run = base::parse_json(
      run_program("run " + kLlama8b + " --set parallel.zero=3 --json -").out, "run.json");
  const auto text = [](const base::Document& document, const std::string& path) {
    const base::Value* value = base::find_path(document.root, path);
    REQUIRE(value != nullptr);
    return value->text;
  };
  for (const char* key : {"step_time_s", "tokens_per_s", "mfu", "hfu"}) {
    CHECK(text(sweep, std::string("rows.1.") + key) == text(run, key));
  }
  CHECK(text(sweep, "rows.1.reserved_bytes") == text(run, "memory.reserved_bytes"));
  CHECK(text(sweep, "rows.1.hash") == text(run, "scenario.hash"));
}

TEST_CASE("sweep: the same bytes whatever the number of jobs", "[cli][sweep]") {
  const Ran ran = run_shell(
      kInFolder + "cd \"$d\" && for j in 1 2 7; do " +
      sweep(kGrid + " --jobs $j --out $j.csv --json $j.json >$j.txt") + " && " +
      sweep(kGrid + " --jobs $j --out $j.jsonl >/dev/null") +
      "; done; for k in txt csv json jsonl; do cmp 1.$k 2.$k && cmp 1.$k 7.$k || exit 9; done; "
      "tail -n 1 7.jsonl; ls");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("{\"complete\":true"));
  CHECK(count_lines(ran.out) == 1 + 12);  // and no temporary left
}

TEST_CASE("sweep: goes on where it was stopped", "[cli][sweep]") {
  const Ran ran = run_shell(
      kInFolder + "cd \"$d\" && " + sweep(kGrid + " --out whole.jsonl >/dev/null") +
      " && head -n 4 whole.jsonl >part.jsonl && printf '{\"point\":3,\"se' >>part.jsonl && "
      // A number only a resumed row can have.
      "sed -i '2s/\"devices\":8/\"devices\":77/' part.jsonl && " +
      sweep(kGrid + " --out part.jsonl --resume part.jsonl >/dev/null") +
      " && grep -c '\"devices\":77' part.jsonl && sed 's/\"devices\":77/\"devices\":8/' "
      "part.jsonl | cmp - whole.jsonl && " +
      sweep(kGpt + " --over batch.micro=1,2 --resume whole.jsonl"));
  CHECK(ran.out == "1\n");
  CHECK(ran.exit_code == 2);  // of the last: another scenario
  CHECK_THAT(ran.err, Contains("of another scenario"));
}

TEST_CASE("sweep: a signal to stop keeps whole rows and nothing else", "[cli][sweep]") {
  std::string many = "1000000";
  for (int i = 1; i < 3000; ++i) many += "," + std::to_string(1000000 + i);
  const Ran ran = run_shell(
      kInFolder + "cd \"$d\"; \"$PACELINE\" sweep " + kGpt + " --over run.tokens=" + many +
      " --out x.jsonl >/dev/null & pid=$!; "
      "while [ \"$(wc -l <x.jsonl 2>/dev/null || echo 0)\" -lt 20 ]; do sleep 0.05; done; "
      "kill -TERM $pid; wait $pid; echo $?; ls -A; tail -n 1 x.jsonl");
  CHECK_THAT(ran.out, Catch::Matchers::StartsWith("143\nx.jsonl\n{\"point\""));
  CHECK_THAT(ran.out, Catch::Matchers::EndsWith("}\n"));
}

TEST_CASE("sweep: an engine that crashes costs rows, not the sweep", "[cli][sweep]") {
  const Ran ran = run_shell("PACELINE_MODULES='" PACELINE_CRASHING_MODULES "' " +
                            sweep(kLlama8b + " --over parallel.zero=2,9 --engine simgrid"));
  CHECK(ran.exit_code == 1);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Contains("1 bad input, 1 crashed") && Contains("signal 6 (Aborted)"));
}

TEST_CASE("sweep: shared links in every point", "[cli][sweep]") {
  const Ran ran = run_program("sweep '" PACELINE_SOURCE
                              "/scenarios/06_llama3_70b_64_h100.yaml' --over parallel.zero=0,1 "
                              "--engine simgrid --json -");
  if (ran.exit_code == 3) {
    WARN("skipped, no SimGrid: " << ran.err);
    return;
  }
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("\"fidelity\": \"fluid\"") && Contains("\"fits\": 1"));
}

TEST_CASE("sweep: exit codes and messages", "[cli][sweep]") {
  CHECK(run_program("sweep " + kLlama8b + " --over parallel.zero=0 --over batch.micro=1,2")
            .exit_code == 1);
  CHECK(run_program("sweep " + kLlama8b + " --over batch.micro=32,64").exit_code == 2);
  const std::pair<std::string, const char*> cases[] = {
      {kLlama8b, "--over"},
      {kLlama8b + " --over parallel.tp", "is no path=a,b,c"},
      {kLlama8b + " --over parallel.tpp=1,2", "did you mean 'tp'?"},
      {kLlama8b + " --over parallel.tp=1,2 --over batch.micro=1 --zip", "equal length"},
      {kLlama8b + " --over parallel.tp=1,2 --jobs 0", "--jobs"},
      {kLlama8b + " --over parallel.tp=1,2 --where 'tp/0 < 3'", "divides by 0"},
      {kLlama8b + " --over parallel.tp=1,2 --json ''", "--json: is empty"},
      {kLlama8b + " --over parallel.tp=1,2 --quiet --verbose", "contradict"},
      {kLlama8b + " --over parallel.tp=1,2 --out x.txt", "neither in .csv nor in .jsonl"},
      {kLlama8b + " --over parallel.tp=1,2 --out /no/such/folder/x.csv", "/no/such/folder"},
      {kLlama8b + " --over parallel.tp=1,2 --resume /no/such.jsonl", "no such file"},
      {kLlama8b + " --over parallel.tp=1,2 --engine simgird", "did you mean 'simgrid'?"},
      {"/no/such.yaml --over parallel.tp=1,2", "no such file"},
  };
  for (const auto& [arguments, expected] : cases) {
    INFO(arguments);
    const Ran ran = run_program("sweep " + arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(count_lines(ran.err) == 1);
    CHECK_THAT(ran.err, Contains(expected));
  }
}

TEST_CASE("sweep: without the SimGrid module the engine is missing", "[cli][sweep]") {
  const Ran ran =
      run_shell(kInFolder + "cp \"$PACELINE\" \"$d/paceline\" && \"$d/paceline\" sweep " +
                kLlama8b + " --over parallel.zero=2,3 --engine simgrid");
  CHECK(ran.exit_code == 3);
  CHECK(count_lines(ran.err) == 1);
}

namespace {

const std::string kMpirun =
    "mpirun $([ $(id -u) = 0 ] && echo --allow-run-as-root) --oversubscribe -q -np 3 ";
}  // namespace

TEST_CASE("sweep: processes under mpirun share the points, the file has the same bytes",
          "[cli][sweep]") {
  if (!kernels::mpi_available()) {
    WARN("skipped: MPI is not installed");
    return;
  }
  const std::string no_leaks = "export ASAN_OPTIONS=detect_leaks=0; ";  // of Open MPI's own
  const Ran ran = run_shell(
      no_leaks + kInFolder + "cd \"$d\" && " + sweep(kGrid + " --out one.jsonl >one.txt") + " && " +
      kMpirun + sweep(kGrid + " --out all.jsonl --report all.html >all.txt") +
      " && cmp one.jsonl all.jsonl && diff one.txt all.txt && " +
      // Of an earlier run, half; and what is wrong is said once.
      "head -n 5 one.jsonl >half.jsonl && " + kMpirun +
      sweep(kGrid + " --out again.jsonl --resume half.jsonl >/dev/null") +
      " && cmp one.jsonl again.jsonl && ! " + kMpirun + sweep(kGrid + " --pareto time,love"));
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.err, Contains("'love'"));
  CHECK(ran.err.find("'love'") == ran.err.rfind("'love'"));
}

TEST_CASE("sweep: parts of an array put together are the whole", "[cli][sweep]") {
  const Ran ran = run_shell(
      kInFolder + "cd \"$d\" && " + sweep(kGrid + " --out one.jsonl >/dev/null") +
      " && for k in 0 1 2; do " + sweep(kGrid + " --part $k/3 --out p$k.jsonl >/dev/null; ") +
      "done; tail -qn 1 p0.jsonl | cut -c 1-18 && " +
      sweep(kGrid + " --resume p0.jsonl --resume p1.jsonl --resume p2.jsonl --out all.jsonl") +
      " >/dev/null && cmp one.jsonl all.jsonl");
  CHECK(ran.exit_code == 0);
  CHECK(ran.out == "{\"complete\":false,\n");
  for (const char* part : {"3/3", "1", "-1/2", "0/0", "x/2"}) {
    CAPTURE(part);
    const Ran bad = run_program("sweep " + kGrid + " --part " + part);
    CHECK(bad.exit_code == 2);
    CHECK(count_lines(bad.err) == 1);
    CHECK_THAT(bad.err, Contains("--part"));
  }
}

TEST_CASE("sweep: rows know the run, with what breaks", "[cli][sweep]") {
  const Ran ran = run_program(
      "sweep " + kLlama8b +
      " --over parallel.zero=2,3 --set run.tokens=1e11 --set "
      "'prices={device_hour: 2 USD/h}' --set 'failures={node_mtbf: 1000 h, restart: 1 h, "
      "checkpoints: {storage: 10 GB/s}, runs: 20}' --pareto run-time,run-cost --json -");
  REQUIRE(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("\"goodput\": 0.9") && Contains("\"run_usd\": ") &&
                          Contains("\"pareto_of\": [\"run_s\", \"run_usd\"]"));
  const Ran bare = run_program("sweep " + kLlama8b + " --over parallel.zero=2,3 --json -");
  CHECK(bare.out.find("goodput") == std::string::npos);
  CHECK(bare.out.find("run_s") == std::string::npos);
}
