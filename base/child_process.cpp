// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace paceline::base {
namespace {

/// The handlers of the parent clean up after the parent.
void forget_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) std::signal(signal, SIG_DFL);
  }
}

[[noreturn]] void be_child(pid_t parent, int output, const std::function<void(int)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(ChildProcess::kThrew);  // it ended before the line above
  forget_handlers();
  int status = 0;
  try {
    work(output);
  } catch (...) {
    status = ChildProcess::kThrew;
  }
  _exit(status);  // nothing of the parent is flushed, destroyed or removed a second time
}

}  // namespace

std::string to_text(const ChildEnd& end) {
  if (end.signal == 0) return "exit status " + std::to_string(end.status);
  return "signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
}

ChildProcess::ChildProcess(const std::function<void(int)>& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  }
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    be_child(parent, ends[1], work);
  }
  const int problem = errno;
  ::close(ends[1]);
  output_ = ends[0];
  if (pid_ > 0) return;
  ::close(output_);
  throw Error(std::string("cannot start a process: ") + std::strerror(problem));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  if (output_ >= 0) ::close(output_);
}

void ChildProcess::ask_to_end() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

ChildEnd ChildProcess::wait() {
  int status = 0;
  pid_t ended = -1;
  do {
    ended = waitpid(pid_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  pid_ = -1;
  if (ended < 0) return {0, kThrew};  // nobody knows: SIGCHLD is ignored
  if (WIFSIGNALED(status)) return {WTERMSIG(status), 0};
  return {0, WEXITSTATUS(status)};
}

}  // namespace paceline::base
