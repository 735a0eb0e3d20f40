// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "tests/e2e/run_program.hpp"

using namespace paceline;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {

const std::string kInOwnFolder = "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && cd \"$d\" && ";
const std::string kWithDevices = "'" PACELINE_SOURCE "/scenarios/02_llama3_8b_8_h100.yaml'";
const std::string kCorpus = "'" PACELINE_SOURCE "/tests/fuzz/corpus/samples/";

}  // namespace

TEST_CASE("bench: samples grow line by line and end with a line that says so", "[cli][bench]") {
  const Ran ran = run_shell(kInOwnFolder +
                            "\"$PACELINE\" bench --only rmsnorm --quick --out s.jsonl && tail -n 1 "
                            "s.jsonl && wc -l <s.jsonl && ls -A");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("rmsnorm forward fp32 rows=1024 columns=1024") &&
                          Contains("{\"schema\":\"paceline-samples-1\",\"complete\":true,"
                                   "\"samples\":12,") &&
                          Contains("\n13\ns.jsonl\n"));
}

TEST_CASE("bench: goes on where it was stopped, busy samples once more", "[cli][bench]") {
  const Ran ran = run_shell(
      kInOwnFolder +
      "b='\"$PACELINE\" bench --only rmsnorm --quick' && eval $b --out s.jsonl >/dev/null 2>&1 && "
      // Two to keep, one of them with a time that only a kept one can have; one to measure again.
      "head -n 3 s.jsonl | sed 's/\"busy\":true/\"busy\":false/; 1s/\"repetitions\":[0-9]*/"
      "\"repetitions\":77/; 3s/\"busy\":false/\"busy\":true/' >p.jsonl && "
      "printf '{\"schema\":\"pace' >>p.jsonl && "
      "eval $b --out p.jsonl --resume p.jsonl >/dev/null 2>&1 && grep -c '\"repetitions\":77' "
      "p.jsonl && wc -l <p.jsonl && "
      "sed -i 's/\"host\":\"[^\"]*\"/\"host\":\"elsewhere\"/' p.jsonl && "
      "eval $b --resume p.jsonl");
  CHECK(ran.out == "1\n13\n");
  CHECK(ran.exit_code == 2);  // of the last: another host
  CHECK_THAT(ran.err, Contains("p.jsonl:1:1: of another host: 'elsewhere'"));
}

TEST_CASE("bench: a signal to stop keeps whole samples and nothing else", "[cli][bench]") {
  const Ran ran =
      run_shell(kInOwnFolder +
                "true; \"$PACELINE\" bench --only rmsnorm --out s.jsonl >/dev/null 2>&1 & pid=$!; "
                "while [ \"$(wc -l <s.jsonl 2>/dev/null || echo 0)\" -lt 2 ]; do sleep 0.05; done; "
                "kill -TERM $pid; wait $pid; echo $?; ls -A; tail -n 1 s.jsonl");
  CHECK_THAT(ran.out, StartsWith("143\ns.jsonl\n{\"schema\":\"paceline-samples-1\""));
  CHECK_THAT(ran.out, EndsWith("}\n"));
}

TEST_CASE("bench: the shapes of a scenario", "[cli][bench]") {
  const Ran ran = run_program("bench --quick --only rmsnorm --for '" PACELINE_SOURCE
                              "/scenarios/02_llama3_8b_8_h100.yaml' --set batch.sequence=128 "
                              "--set model.layers=2 --json -");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("\"schema\": \"paceline-bench-1\"") &&
                          Contains("\"kernel\": \"rmsnorm\"") && Contains("\"columns\": 4096"));
}

TEST_CASE("bench: the shapes of a scenario whose device is still to be measured", "[cli][bench]") {
  const Ran ran = run_shell(
      kInOwnFolder +
      "cat >s.yaml <<'E'\n"
      "model: {hidden: 64, layers: 2, heads: 4, vocab: 128}\n"
      "cluster: {node: {device: here-device.yaml, devices: 2, link: shared-memory, host: intel}, "
      "nodes: 1}\n"
      "stack: paceline\nprecision: fp32\nattention: paceline\nparallel: {pp: 2}\n"
      "batch: {global: 4, micro: 1, sequence: 64}\n"
      "E\n"
      "\"$PACELINE\" bench --for s.yaml --only attention --quick --json -");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("\"kernel\": \"attention\"") && Contains("\"head_dim\": 16"));
}

TEST_CASE("a library's kernel: what it lacks here, and what stands for it", "[cli][bench]") {
  const Ran old = run_shell(kInOwnFolder +
                            "ln -s '" PACELINE_FAKE_CUDNN
                            "' libcudnn.so.9 && "
                            "LD_LIBRARY_PATH=$PWD PACELINE_FAKE_CUDNN_VERSION=8907 \"$PACELINE\" "
                            "list kernels attention-cudnn");
  CHECK(old.exit_code == 0);
  CHECK_THAT(old.out, Contains("by cuDNN 9") &&
                          Contains("; not on this machine: cuDNN 8.9.7 is too old: 9.0.0 or later "
                                   "is needed\n"));
  const Ran unnamed = run_program("bench --only attention-cudnn");
  CHECK(unnamed.exit_code == 2);
  CHECK_THAT(unnamed.err, Contains("bench: no kernel of the choice can be measured on cpu"));
  const Ran instead = run_shell(
      "\"$PACELINE\" bench --quick --only attention --set "
      "model.preset=gpt2 --set batch.sequence=64 --set "
      "attention=cudnn-9 --for " +
      kWithDevices);
  CHECK(instead.exit_code == 0);
  CHECK_THAT(instead.out, StartsWith("attention forward bf16 "));
}

TEST_CASE("bench --check compares kernels with their references", "[cli][bench]") {
  const Ran ran = run_program("bench --check --only rmsnorm --types fp32");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains(" cases on cpu, 0 wrong"));
}

TEST_CASE("calibrate: a profile and a device that run predicts with", "[cli][calibrate]") {
  const Ran ran = run_shell(
      kInOwnFolder + "\"$PACELINE\" calibrate " + kCorpus +
      "all.jsonl' --out here.json --json fit.json && cat >s.yaml <<'E'\n"
      "model: {hidden: 256, layers: 4, heads: 4, vocab: 512, norm: rmsnorm}\n"
      "cluster: {node: {device: here-device.yaml, devices: 2, link: shared-memory, host: intel}, "
      "nodes: 1}\n"
      "stack: paceline\nprecision: fp32\nparallel: {pp: 2}\n"
      "batch: {global: 4, micro: 1, sequence: 128}\n"
      "E\n"
      "\"$PACELINE\" run s.yaml && grep -c '\"curve\"' fit.json && "
      "\"$PACELINE\" run s.yaml --set profile=here.json >/dev/null && "
      "\"$PACELINE\" run s.yaml --set cluster.node.device=h200 --set profile=here.json");
  CHECK(ran.exit_code == 2);  // of the last: not that device's profile
  CHECK_THAT(ran.err, Contains("was measured on here-device, which the cluster does not have"));
  CHECK_THAT(ran.out, Contains("gemm fp32") && Contains("device: here-device.yaml") &&
                          Contains("attention paceline") &&
                          Contains("all_reduce on 2 ranks of 1 node measured in profile here"));
}

TEST_CASE("calibrate: the same samples give the same bytes", "[cli][calibrate]") {
  const Ran ran = run_shell(kInOwnFolder + "cp " + kCorpus +
                            "all.jsonl' s.jsonl && for i in 1 2; do mkdir $i && \"$PACELINE\" "
                            "calibrate s.jsonl --out $i/p.json >$i.txt || exit 9; done; "
                            "cmp 1/p.json 2/p.json && cmp 1/p-device.yaml 2/p-device.yaml");
  CHECK(ran.exit_code == 0);
}

TEST_CASE("calibrate: a fit that its own samples contradict is refused", "[cli][calibrate]") {
  const Ran ran = run_shell(kInOwnFolder + "\"$PACELINE\" calibrate " + kCorpus +
                            "refused.jsonl' --out p.json; echo $?; ls");
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Contains("REFUSED gemm fp32: its own samples are off by") &&
                          Contains("no profile is written") && EndsWith("\n1\n"));
}

TEST_CASE("bench and calibrate: exit codes and messages", "[cli][bench][calibrate]") {
  const std::pair<std::string, const char*> cases[] = {
      {"bench --only gem", "unknown kernel 'gem'"},
      {"bench --types fp31", "'fp31' is not one"},
      {"bench --backend gpu", "gpu"},
      {"bench --resume /no/such.jsonl", "no such file"},
      {"bench --out /no/such/folder/x.jsonl --only rmsnorm --quick", "/no/such/folder"},
      {"bench --for /no/such.yaml", "no such file"},
      {"bench --for " + kWithDevices + " --only gem", "unknown kernel 'gem'"},
      {"bench --for " + kWithDevices + " --types bf16", "--set precision=bf16"},
      {"bench --for " + kWithDevices + " --set batch.sequence=-1", "batch.sequence"},
      {"calibrate /no/such.jsonl --out p.json", "no such file"},
      {"calibrate x --out p.yaml", "must end in .json"},
      {"calibrate x", "--out"},
      {"calibrate " + kCorpus + "nan.jsonl' --out p.json", "nan.jsonl:1:"},
      {"calibrate " + kCorpus + "negative.jsonl' --out p.json", "median_s"},
      {"calibrate " + kCorpus + "unknown-kernel.jsonl' --out p.json", "did you mean 'gemm'?"},
      {"calibrate " + kCorpus + "mixed.jsonl' --out p.json", "one backend at a time"},
      {"calibrate " + kCorpus + "other-device.jsonl' --out p.json", "one device at a time"},
      {"calibrate " + kCorpus + "middle-cut.jsonl' --out p.json", "middle-cut.jsonl:2:"},
      {"calibrate " + kCorpus + "busy.jsonl' --out p.json", "idle machine"},
      {"calibrate " + kCorpus + "all.jsonl' --device h2000 --out p.json", "h200"},
      {"calibrate " + kCorpus + "gemm.jsonl' --out p.json", "measure triad or copy-d2d too"},
  };
  for (const auto& [arguments, expected] : cases) {
    INFO(arguments);
    const Ran ran = run_program(arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(count_lines(ran.err) == 1);
    CHECK_THAT(ran.err, Contains(expected));
  }
}
