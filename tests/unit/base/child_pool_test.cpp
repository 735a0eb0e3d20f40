// SPDX-License-Identifier: Apache-2.0
#include "base/child_pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.hpp"

using paceline::base::ChildAnswer;
using paceline::base::ChildEnd;
using paceline::base::ChildProcess;
using paceline::base::run_in_children;

namespace {

/// As in a program without handlers of its own: the test runner and sanitizers have some.
[[noreturn]] void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::abort();
}

bool no_children_left() { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

std::vector<ChildAnswer> collect(std::size_t count, int jobs,
                                 const std::function<std::string(std::size_t)>& work) {
  std::vector<ChildAnswer> answers(count);
  std::vector<int> seen(count, 0);
  CHECK(run_in_children(count, jobs, work, [&](ChildAnswer answer) {
    ++seen.at(answer.index);
    answers[answer.index] = std::move(answer);
  }));
  CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  CHECK(no_children_left());
  return answers;
}

}  // namespace

TEST_CASE("a child that crashes, exits, is killed or throws costs its own answer only", "[base]") {
  const auto work = [](std::size_t i) -> std::string {
    if (i == 2) die_of(SIGSEGV);
    if (i == 3) die_of(SIGABRT);
    if (i == 5) _exit(7);
    if (i == 6) _exit(0);
    if (i == 8) throw std::runtime_error("no such thing");
    if (i == 9) ::kill(getpid(), SIGKILL);
    return "answer " + std::to_string(i);
  };
  for (const int jobs : {1, 3, 50}) {
    const auto answers = collect(12, jobs, work);
    const std::vector<std::string> failures{"",
                                            "",
                                            "signal 11 (Segmentation fault)",
                                            "signal 6 (Aborted)",
                                            "",
                                            "exit status 7",
                                            "ended without an answer",
                                            "",
                                            "no such thing",
                                            "signal 9 (Killed)",
                                            "",
                                            ""};
    for (std::size_t i = 0; i < answers.size(); ++i) {
      INFO(jobs << " jobs, " << i);
      CHECK(answers[i].failure == failures[i]);
      CHECK(answers[i].text == (failures[i].empty() ? "answer " + std::to_string(i) : ""));
    }
  }
}

TEST_CASE("answers longer than a pipe holds arrive whole", "[base]") {
  const auto answers = collect(
      3, 2, [](std::size_t i) { return std::string(300'000 + i, static_cast<char>('a' + i)); });
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(answers[i].text == std::string(300'000 + i, static_cast<char>('a' + i)));
  }
}

TEST_CASE("children run side by side, and no more of them than asked for", "[base]") {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  collect(4, 4, [](std::size_t) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return std::string();
  });
  CHECK(Clock::now() - start < std::chrono::milliseconds(3500));
  const auto again = Clock::now();
  collect(4, 2, [](std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::string();
  });
  CHECK(Clock::now() - again >= std::chrono::milliseconds(100));
}

TEST_CASE("what takes the answers may throw: no child stays behind", "[base]") {
  const auto slow = [](std::size_t i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::seconds(60));
    return std::string("x");
  };
  const auto fail = [](const ChildAnswer&) { throw std::runtime_error("disk full"); };
  CHECK_THROWS_WITH(run_in_children(4, 4, slow, fail), "disk full");
  CHECK(no_children_left());
}

TEST_CASE("a signal to stop ends the children and then acts", "[base]") {
  // A process of its own: the signal ends it.
  ChildProcess asked([](int) {
    run_in_children(
        4, 2,
        [](std::size_t i) {
          if (i == 0) return std::string();
          std::this_thread::sleep_for(std::chrono::seconds(60));
          return std::string();
        },
        [](const ChildAnswer&) { std::raise(SIGTERM); });
  });
  const ChildEnd end = asked.wait();
  CHECK(end.signal == SIGTERM);
  CHECK(no_children_left());
}

TEST_CASE("a child process that nobody waits for is ended", "[base]") {
  {
    const ChildProcess child([](int) { std::this_thread::sleep_for(std::chrono::seconds(60)); });
  }
  CHECK(no_children_left());
  ChildProcess throws([](int) { throw std::runtime_error("x"); });
  CHECK(throws.wait().status == ChildProcess::kThrew);
}
