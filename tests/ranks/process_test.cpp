// SPDX-License-Identifier: Apache-2.0
// What starts ranks, seen from outside. $PACELINE is this very program.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/e2e/run_program.hpp"

using namespace paceline::tests;
namespace fs = std::filesystem;

namespace {

/// A folder for the process ids of ranks.
class IdFolder {
 public:
  IdFolder() : path_(fs::temp_directory_path() / ("paceline-ids-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~IdFolder() { fs::remove_all(path_); }
  IdFolder(const IdFolder&) = delete;
  IdFolder& operator=(const IdFolder&) = delete;
  std::string path() const { return path_.string(); }
  /// Of as many ranks, once they are there.
  std::vector<pid_t> wait_for(int ranks) const {
    std::vector<pid_t> ids;
    for (int rank = 0; rank < ranks; ++rank) {
      const fs::path file = path_ / std::to_string(rank);
      for (int tries = 0; tries < 600 && !fs::exists(file); ++tries) pause();
      pid_t id = 0;
      std::ifstream(file) >> id;
      REQUIRE(id > 1);
      ids.push_back(id);
    }
    return ids;
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

 private:
  fs::path path_;
};

bool all_gone(const std::vector<pid_t>& ids) {
  for (int tries = 0; tries < 200; ++tries) {
    bool any = false;
    for (const pid_t id : ids) any = any || kill(id, 0) == 0;
    if (!any) return true;
    IdFolder::pause();
  }
  return false;
}

/// The program with ranks that hang, as a shell would start it in the foreground.
pid_t start_hanging(const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) std::signal(s, SIG_DFL);
    setenv("TMPDIR", folder.c_str(), 1);
    execl(PACELINE_BINARY, PACELINE_BINARY, "--ranks", "2", "--scenario", "hang", folder.c_str(),
          nullptr);
    _exit(127);
  }
  return child;
}

/// Folders that ranks used.
int left_behind(const std::string& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    count += entry.path().filename().string().rfind("paceline-ranks-", 0) == 0 ? 1 : 0;
  return count;
}

Ran run_scenario(int ranks, const std::string& scenario) {
  return run_program("--ranks " + std::to_string(ranks) + " --scenario " + scenario);
}

}  // namespace

TEST_CASE("the exit status is that of the worst rank", "[process]") {
  CHECK(run_scenario(2, "end-with 1 3").exit_code == 3);
  CHECK(run_scenario(2, "end-with 0 2").exit_code == 2);
  CHECK(run_scenario(4, "end-with 2 1").exit_code == 1);
}

TEST_CASE("a rank that a signal ends costs one line and its status", "[process]") {
  const Ran ran = run_scenario(2, "die 1 9");
  CHECK(ran.exit_code == 137);
  CHECK(ran.err == "paceline: rank 1 was ended by signal 9 (Killed); the other ranks were ended\n");
  CHECK(run_scenario(2, "die 0 11").exit_code == 139);
}

TEST_CASE("what all ranks say is said once", "[process]") {
  const Ran ran = run_scenario(4, "fail-together");
  CHECK(ran.exit_code == 2);
  CHECK(count_lines(ran.err) == 1);
  CHECK(ran.err.find("scenario.yaml:3:1: everyone sees this\n") != std::string::npos);
}

TEST_CASE("a message longer than its receiver is an error in one line", "[process]") {
  const Ran ran = run_scenario(2, "too-long");
  CHECK(ran.exit_code == 2);
  INFO(ran.err);
  CHECK(count_lines(ran.err) == 1);
  CHECK(ran.err.find("rank 1: paceline: mpi: message: ") == 0);
  CHECK(ran.err.find("truncated") != std::string::npos);
}

TEST_CASE("lines of ranks stay whole, standard output is rank 0's", "[process]") {
  const Ran ran = run_scenario(2, "chatter");
  CHECK(ran.exit_code == 0);
  CHECK(count_lines(ran.out) == 2000);
  CHECK(ran.out.find("rank 1") == std::string::npos);
  std::istringstream lines(ran.err);
  int next = 0;
  for (std::string line; std::getline(lines, line) && next < 500; ++next)
    CHECK(line == "error " + std::to_string(next) + " of rank 0");
  CHECK(ran.err.find("rank 1: error 499 of rank 1\n") != std::string::npos);
}

TEST_CASE("ranks run in the caller's folder with its arguments", "[process]") {
  const Ran ran =
      run_shell("cd / && \"$PACELINE\" --ranks 2 --scenario where 'two words;$HOME \"'");
  CHECK(ran.exit_code == 0);
  CHECK(ran.err == "rank 1: / two words;$HOME \"\n");
}

TEST_CASE("another number of ranks under mpirun is refused in one line", "[process]") {
  const Ran ran = run_shell(
      "mpirun $([ $(id -u) = 0 ] && echo --allow-run-as-root) --oversubscribe -q -np 3 "
      "\"$PACELINE\" --ranks 2 --scenario hang");
  CHECK(ran.exit_code == 2);
  CHECK(ran.err ==
        "paceline: mpirun: started 3 ranks, but 2 are asked for; the numbers must agree, or start "
        "without mpirun\n");
}

TEST_CASE("under mpirun nothing is started", "[process]") {
  const Ran ran = run_shell(
      "mpirun $([ $(id -u) = 0 ] && echo --allow-run-as-root) --oversubscribe -q -np 2 "
      "\"$PACELINE\" --ranks 2 --scenario where here");
  CHECK(ran.exit_code == 0);
  CHECK(count_lines(ran.err) == 1);
}

TEST_CASE("without mpirun one line names the packages, exit 3", "[process]") {
  const Ran ran = run_shell(
      "PACELINE_MISSING_IS_3=1 PATH=/nowhere \"$PACELINE\" --ranks 2 --scenario where here");
  CHECK(ran.exit_code == 3);
  CHECK(ran.err ==
        "paceline: mpirun is not found: several ranks need Open MPI: apt-get install "
        "libopenmpi-dev openmpi-bin, then build again\n");
}

TEST_CASE("an mpirun that cannot start the ranks is a line of its own", "[process]") {
  const Ran ran = run_shell(
      "OMPI_MCA_rmaps=none_such PACELINE_MISSING_IS_3=1 \"$PACELINE\" --ranks 2 --scenario where "
      "x");
  CHECK(ran.exit_code == 3);
  INFO(ran.err);
  CHECK(count_lines(ran.err) == 1);
  CHECK(ran.err.find("mpirun could not start 2 ranks: ") != std::string::npos);
}

TEST_CASE("rank 0 has a terminal where its caller has one", "[process]") {
  const std::string command = "\"$PACELINE\" --ranks 2 --scenario terminals";
  CHECK(run_shell(command).out == "00\n");
  const Ran ran = run_shell(
      "python3 -c 'import os, pty; pty.spawn([os.environ[\"PACELINE\"], "
      "\"--ranks\", \"2\", \"--scenario\", \"terminals\"])'");
  CHECK(ran.out == "11\r\n");
}

TEST_CASE("a signal ends the ranks and nothing is left behind", "[process]") {
  const int signal = GENERATE(SIGINT, SIGTERM, SIGKILL);
  const IdFolder ids;
  const pid_t program = start_hanging(ids.path());
  const std::vector<pid_t> ranks = ids.wait_for(2);
  kill(program, signal);
  int status = 0;
  REQUIRE(waitpid(program, &status, 0) == program);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == signal);
  CHECK(all_gone(ranks));
  CHECK(left_behind(ids.path()) == (signal == SIGKILL ? 1 : 0));
}
