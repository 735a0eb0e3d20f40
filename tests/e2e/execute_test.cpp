// SPDX-License-Identifier: Apache-2.0
// Scenarios that really run. Times are looked at for being there, never for being right: the
// machine may be busy.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "base/child_process.hpp"
#include "base/config.hpp"
#include "kernels/collective/mpi.hpp"
#include "tests/e2e/run_program.hpp"
#include "tests/temporary_folder.hpp"

using namespace paceline;
using paceline::tests::run_program;

namespace {

namespace fs = std::filesystem;

/// A folder of its own with a scenario small enough for any machine.
class Folder {
 public:
  Folder() {
    std::ofstream(scenario())
        << "name: tiny\n"
           "model: {hidden: 64, layers: 4, heads: 4, ffn: 128, vocab: 256, norm: rmsnorm, "
           "activation: swiglu, bias: false, tied: false}\n"
           "cluster: {preset: dgx-a100, nodes: 1}\n"
           "parallel: {pp: 2, dp: 1}\n"
           "batch: {global: 4, micro: 1, sequence: 32}\n"
           "precision: fp32\nattention: eager\n";
  }
  std::string scenario() const { return file("tiny.yaml"); }
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  scratch::Folder folder_;
};

/// Processes that have `word` in one of their arguments.
int processes_with(const std::string& word) {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    count += words.find(word) != std::string::npos ? 1 : 0;
  }
  return count;
}

bool soon(const std::function<bool()>& there) {
  for (int tries = 0; tries < 600 && !there(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return there();
}

bool has_mpi() {
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // Open MPI keeps what it allocates until the end
  if (kernels::mpi_available()) return true;
  WARN("skipped: MPI is not installed");
  return false;
}

}  // namespace

TEST_CASE("layouts and schedules run for real and are compared", "[e2e]") {
  if (!has_mpi()) return;
  const Folder folder;
  for (const std::string set :
       {"schedule.name=1f1b", "schedule.name=gpipe", "schedule.name=zb-h1",
        "'schedule={name: interleaved-1f1b, chunks: 2}'",
        "'schedule={name: 1f1b, dispatch: ready}'", "'parallel={dp: 2}'",
        "'parallel={dp: 2, zero: 3}'", "'parallel={tp: 2, dp: 1}'",
        "'parallel={tp: 2, dp: 1, sequence_parallel: true}'",
        "'costs={forward: 2 ms, input_gradient: 2 ms, weight_gradient: 1 ms, hop: 10 us}'"}) {
    INFO(set);
    const paceline::tests::Ran ran =
        run_program("execute " + folder.scenario() + " --steps 2 --set " + set + " --details " +
                    folder.file("details.json") + " --json " + folder.file("measured.json"));
    INFO(ran.err);
    REQUIRE(ran.exit_code == 0);
    CHECK(ran.out.find("Step time") != std::string::npos);
    const base::Document details = base::read_document(folder.file("details.json"));
    base::Fields fields(details, details.root);
    CHECK(fields.number("measured_step_s", 0, 1e6) > 0);
    CHECK(fields.number("predicted_step_s", 0, 1e6) > 0);
    CHECK(fields.list("step_s").size() == 2);
    CHECK(fields.list("work").size() > 2);
    const paceline::tests::Ran compared = run_program("compare " + folder.file("measured.json") +
                                                      " " + folder.scenario() + " --set " + set);
    INFO(compared.err);
    CHECK(compared.exit_code == 0);
  }
}

TEST_CASE("a trace shows both timelines", "[e2e]") {
  if (!has_mpi()) return;
  const Folder folder;
  const paceline::tests::Ran ran =
      run_program("execute " + folder.scenario() + " --steps 1 --trace -");
  REQUIRE(ran.exit_code == 0);
  for (const char* name : {"\"predicted rank 0, ", "\"measured rank 0, ", "\"measured rank 1, "})
    CHECK(ran.out.find(name) != std::string::npos);
}

TEST_CASE("training shows the loss of every step, in text and JSON", "[e2e]") {
  if (!has_mpi()) return;
  const Folder folder;
  const std::string train = "execute " + folder.scenario() + " --train --steps 3 --json ";
  const paceline::tests::Ran text = run_program(train + folder.file("train.json"));
  INFO(text.err);
  CHECK(text.exit_code == 0);
  CHECK(paceline::tests::count_lines(text.out) == 5);
  CHECK(text.out.starts_with("tiny, 2 ranks, seed 1\n"));
  const base::Document document = base::read_document(folder.file("train.json"));
  base::Fields fields(document, document.root);
  CHECK(fields.list("steps").size() == 3);
  const paceline::tests::Ran json = run_program(train + "-");
  CHECK(json.exit_code == 0);
  CHECK(json.out.starts_with("{"));
}

TEST_CASE("training that is stopped keeps the steps it did", "[e2e]") {
  if (!has_mpi()) return;
  const Folder folder;
  const std::string out = folder.file("out.txt");
  const std::string line = "exec '" PACELINE_BINARY "' execute " + folder.scenario() +
                           " --train --steps 1000 --set batch.sequence=128 >" + out + " 2>&1";
  base::ChildProcess program(
      [&](int) { execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr)); });
  const auto lines = [&] {
    std::ifstream file(out);
    return paceline::tests::count_lines({std::istreambuf_iterator<char>(file), {}});
  };
  CHECK(soon([&] { return lines() >= 4; }));
  program.ask_to_end();
  const base::ChildEnd end = program.wait();
  CHECK((end.signal == SIGTERM || end.status == 128 + SIGTERM));
  CHECK(lines() >= 4);
}

TEST_CASE("what cannot run is refused in one line", "[e2e]") {
  const Folder folder;
  const auto refused = [&](const std::string& arguments, int exit_code, const std::string& words) {
    const paceline::tests::Ran ran = run_program("execute " + folder.scenario() + " " + arguments);
    INFO(arguments << ": " << ran.err);
    CHECK(ran.exit_code == exit_code);
    CHECK(paceline::tests::count_lines(ran.err) == 1);
    CHECK(ran.err.find(words) != std::string::npos);
  };
  refused("--ranks 3", 2, "the scenario's layout has 2 ranks, not 3");
  refused("--train --trace t.json", 2, "--trace: means nothing to --train");
  refused("--train --details d.json", 2, "--details: means nothing to --train");
  refused("--text t.txt", 2, "--text: is of --train");
  refused("--seed 2", 2, "--seed: is of --train");
  refused("--train --text /dev/null", 2, "/dev/null");
  refused("--backend tpu", 2, "'tpu' is not one");
  refused("--set precision=fp16 --set attention=eager --set stack.nccl=2.18", 2, "stack");
  if (!fs::exists("/dev/nvidia0")) refused("--backend cuda", 3, "cuda: ");
}

TEST_CASE("a signal ends whatever execute and validate here have started", "[e2e]") {
  if (!has_mpi()) return;
  const Folder folder;
  const auto check = [](const std::string& arguments, const std::string& word, int processes) {
    INFO(arguments);
    const std::string line = "exec '" PACELINE_BINARY "' " + arguments + " >/dev/null 2>&1";
    base::ChildProcess program(
        [&](int) { execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr)); });
    CHECK(soon([&] { return processes_with(word) >= processes; }));
    program.ask_to_end();
    const base::ChildEnd end = program.wait();
    CHECK((end.signal == SIGTERM || end.status == 128 + SIGTERM));
    CHECK(soon([&] { return processes_with(word) == 0; }));
  };
  // With mpirun and its two ranks; with bench.
  check("execute " + folder.scenario() + " --steps 1000", folder.scenario(), 4);
  check("validate here --busy --folder " + folder.file("here"), folder.file("here"), 2);
}
