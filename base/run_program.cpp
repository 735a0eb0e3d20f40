// SPDX-License-Identifier: Apache-2.0
#include "base/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/error.hpp"
#include "base/held_signals.hpp"

namespace paceline::base {
namespace {

/// Becomes the program. `open_until_end` closes when it and all it started have ended.
[[noreturn]] void become(const std::vector<char*>& argv, int output, int open_until_end) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // it may have ranks to end
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::fcntl(open_until_end, F_SETFD, 0);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

/// Until all of it has ended; a signal to this process asks it to, and then it has `kPatience`.
void wait_for(ChildProcess& program, const HeldSignals& signals) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience(8);  // mpirun takes up to 5
  bool asked = false;
  Clock::time_point when{};
  while (!(asked && Clock::now() - when > kPatience)) {
    std::array<pollfd, 2> watched{
        {{program.output(), POLLIN, 0}, {asked ? -1 : signals.descriptor(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), 500) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    if (watched[1].revents == 0) continue;
    program.ask_to_end();
    asked = true;
    when = Clock::now();
  }
}

}  // namespace

ChildEnd run_program(const std::vector<std::string>& words, const std::string& output_file) {
  PACELINE_CHECK(!words.empty());
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int output = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (output < 0) throw Error(output_file, std::strerror(errno));
  const HeldSignals signals;  // act when the program has ended
  ChildProcess program([&](int open_until_end) { become(argv, output, open_until_end); });
  ::close(output);
  wait_for(program, signals);
  if (signals.pending() != 0) return {signals.pending(), 0};
  return program.wait();
}

}  // namespace paceline::base
