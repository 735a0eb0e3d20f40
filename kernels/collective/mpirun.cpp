// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/mpirun.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <vector>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/held_signals.hpp"
#include "base/message.hpp"
#include "base/write_all.hpp"
#include "kernels/collective/mpirun_command.hpp"
#include "kernels/collective/rank_folder.hpp"

namespace paceline::kernels {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Becomes mpirun, in a process group of its own: Ctrl-C on a terminal reaches the process that
/// started it, which asks once.
[[noreturn]] void be_mpirun(const std::vector<char*>& words, const std::vector<char*>& variables,
                            int errors) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::setpgid(0, 0);
  if (::isatty(STDIN_FILENO) == 1) {  // which must not be read from the background
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
  }
  ::dup2(errors, STDERR_FILENO);
  ::execve(words[0], words.data(), variables.data());
  ::_exit(127);
}

/// Adds what there is to read; false at the end of the file.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 16384> buffer;
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  if (text.size() < kKeptText) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

/// Until mpirun has ended; what it said itself. A signal asks it to end.
std::string listen(base::ChildProcess& mpirun, RankZero& rank_0, const base::HeldSignals& signals) {
  std::string words;
  bool asked = false, ended = false;
  Clock::time_point when{};
  // The destructor of an mpirun that does not want to end kills it, and the ranks end with it.
  while (!ended && !(asked && Clock::now() - when > std::chrono::seconds(5))) {
    std::array<pollfd, 4> watched{{{mpirun.output(), POLLIN, 0},
                                   {rank_0.output.reader(), POLLIN, 0},
                                   {rank_0.errors.reader(), POLLIN, 0},
                                   {asked ? -1 : signals.descriptor(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), 500) < 0 && errno != EINTR)
      throw base::Error("cannot wait for mpirun");
    rank_0.output.pass_on();
    rank_0.errors.pass_on();
    if (watched[3].revents > 0) {
      mpirun.ask_to_end();
      asked = true;
      when = Clock::now();
    }
    ended = watched[0].revents != 0 && !read_some(mpirun.output(), words);
  }
  rank_0.output.pass_on();
  rank_0.errors.pass_on();
  return words;
}

void say(const std::string& line) { base::write_all(STDERR_FILENO, "paceline: " + line + "\n"); }

/// "rank 1 was ended by signal 11 (Segmentation fault)" out of mpirun's "… noticed that process
/// rank 1 with PID 0 on node x exited on signal 11 (Segmentation fault)."; "" when it does not say
/// so.
std::string killed(const std::string& words) {
  constexpr std::string_view kRank = "noticed that process rank ", kSignal = " exited on signal ";
  const std::size_t rank = words.find(kRank), signal = words.find(kSignal, rank);
  if (rank == std::string::npos || signal == std::string::npos) return "";
  const auto piece = [&](std::size_t from, const char* end) {
    return words.substr(from, words.find_first_of(end, from) - from);
  };
  return "rank " + piece(rank + kRank.size(), " ") + " was ended by signal " +
         piece(signal + kSignal.size(), ".\n");
}

/// mpirun's words without its rules and line breaks.
std::string summary(const std::string& words) {
  std::istringstream in(words);
  std::string result;
  for (std::string word; in >> word;)
    if (word.find_first_not_of('-') != std::string::npos)
      result += (result.empty() ? "" : " ") + word;
  return base::one_line(result, 300);
}

int verdict(const RankFolder& folder, int ranks, bool said, const std::string& words,
            const base::ChildEnd& end) {
  const int status = end.signal != 0 ? 128 + end.signal : end.status;
  const int worst = worst_status(folder, ranks);
  if (status == 0) return std::max(worst, 0);
  const std::string signal = killed(words);
  if (!signal.empty()) {
    say(signal + "; the other ranks were ended");
    return status;
  }
  if (worst < 0)
    throw base::MissingError("mpirun could not start " + std::to_string(ranks) +
                             " ranks: " + summary(words));
  if (!said) say("the ranks ended with status " + std::to_string(status) + ": " + summary(words));
  return std::max(status, worst);
}

}  // namespace

int run_under_mpirun(int ranks, std::span<char* const> argv) {
  std::vector<std::string> words = mpirun_command(ranks, argv);
  const base::HeldSignals signals;  // act when the ranks and the folder are gone
  const RankFolder folder;
  RankZero rank_0(folder);
  std::vector<std::string> variables =
      mpirun_environment(std::string(kRankFolderVariable) + "=" + folder.path().string());
  const std::vector<char*> word_pointers = pointers(words), variable_pointers = pointers(variables);
  base::ChildProcess mpirun(
      [&](int errors) { be_mpirun(word_pointers, variable_pointers, errors); });
  const std::string said_by_mpirun = listen(mpirun, rank_0, signals);
  const bool said = show_other_ranks(folder, ranks, rank_0.errors.kept());
  if (const int signal = signals.pending()) return 128 + signal;
  return verdict(folder, ranks, said, said_by_mpirun, mpirun.wait());
}

}  // namespace paceline::kernels
