// SPDX-License-Identifier: Apache-2.0
// Ranks are always on this machine here, so they leave their error output and exit status in a
// folder: what mpirun passes on has its own banners in between, and lines of several ranks in
// pieces.
#include "kernels/collective/mpirun.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/held_signals.hpp"
#include "base/message.hpp"
#include "base/write_all.hpp"
#include "kernels/collective/mpirun_command.hpp"

namespace paceline::kernels {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kFolderVariable = "PACELINE_RANK_FOLDER";
constexpr std::size_t kKept = 64 * 1024;  ///< bytes of text, of a rank or of mpirun

fs::path errors_of(const fs::path& folder, int rank) {
  return folder / (std::to_string(rank) + ".err");
}
/// Empty while the rank runs; then its exit status.
fs::path status_of(const fs::path& folder, int rank) {
  return folder / (std::to_string(rank) + ".status");
}

/// A folder of this process alone, with a pipe for what rank 0 says.
class Folder {
 public:
  Folder() {
    std::error_code ignored;
    fs::path parent = fs::temp_directory_path(ignored);
    if (parent.empty()) parent = "/tmp";
    std::string name = (parent / "paceline-ranks-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail(name);
    path_ = name;
    const std::string pipe = errors_of(path_, 0).string();
    // Open at both ends: it does not end when rank 0 does.
    if (::mkfifo(pipe.c_str(), 0600) != 0 ||
        (pipe_ = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0) {
      fs::remove_all(path_, ignored);
      fail(pipe);
    }
  }
  ~Folder() {
    if (pipe_ >= 0) ::close(pipe_);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }
  int pipe() const { return pipe_; }

 private:
  [[noreturn]] static void fail(const std::string& name) {
    throw base::Error(name, std::strerror(errno), "TMPDIR names a folder for temporary files");
  }
  fs::path path_;
  int pipe_ = -1;
};

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

/// What was said while the ranks ran, each at most kKept bytes.
struct Heard {
  std::string mpirun, rank_0;
};

/// Adds what there is to read; false at the end of the file.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 16384> buffer;
  const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

void pass_on(int pipe, std::string& kept) {
  for (std::string text; read_some(pipe, text); text.clear()) {
    base::write_all(STDERR_FILENO, text);
    if (kept.size() < kKept) kept += text;
  }
}

/// Until mpirun has ended. A signal asks it to end.
Heard listen(base::ChildProcess& mpirun, int pipe, const base::HeldSignals& signals) {
  Heard heard;
  bool asked = false;
  Clock::time_point when{};
  while (true) {
    std::array<pollfd, 3> watched{{{mpirun.output(), POLLIN, 0},
                                   {pipe, POLLIN, 0},
                                   {asked ? -1 : signals.descriptor(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), 500) < 0 && errno != EINTR)
      throw base::Error("cannot wait for mpirun");
    pass_on(pipe, heard.rank_0);
    if (watched[2].revents > 0) {
      mpirun.ask_to_end();
      asked = true;
      when = Clock::now();
    }
    std::string words;
    const bool ended = watched[0].revents != 0 && !read_some(mpirun.output(), words);
    if (heard.mpirun.size() < kKept) heard.mpirun += words;
    // The destructor of one that does not want to end kills it, and the ranks end with it.
    if (ended || (asked && Clock::now() - when > std::chrono::seconds(5))) break;
  }
  pass_on(pipe, heard.rank_0);
  return heard;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kKept, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

void say(const std::string& line) { base::write_all(STDERR_FILENO, line + "\n"); }

/// What the other ranks said and no lower rank did, with their number; whether any said something.
bool show_others(const fs::path& folder, int ranks, const std::string& rank_0) {
  std::set<std::string> shown;
  std::istringstream first(rank_0);
  for (std::string line; std::getline(first, line);) shown.insert(line);
  bool said = !shown.empty();
  for (int rank = 1; rank < ranks; ++rank) {
    std::istringstream text(text_of(errors_of(folder, rank)));
    for (std::string line; std::getline(text, line);) {
      if (line.empty() || !shown.insert(line).second) continue;
      say("rank " + std::to_string(rank) + ": " + line);
      said = true;
    }
  }
  return said;
}

/// Of the ranks that ended by themselves the largest exit status; -1 when a rank never started.
int worst_status(const fs::path& folder, int ranks) {
  int worst = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path file = status_of(folder, rank);
    if (!fs::exists(file)) return -1;
    worst = std::max(worst, std::atoi(text_of(file).c_str()));
  }
  return worst;
}

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

int verdict(const fs::path& folder, int ranks, const Heard& heard, const base::ChildEnd& end) {
  const bool said = show_others(folder, ranks, heard.rank_0);
  const int status = end.signal != 0 ? 128 + end.signal : end.status;
  const int worst = worst_status(folder, ranks);
  if (status == 0) return std::max(worst, 0);
  const std::string signal = killed(heard.mpirun);
  if (!signal.empty()) {
    say("paceline: " + signal + "; the other ranks were ended");
    return status;
  }
  if (worst < 0)
    throw base::MissingError("mpirun could not start " + std::to_string(ranks) +
                             " ranks: " + summary(heard.mpirun));
  if (!said)
    say("paceline: the ranks ended with status " + std::to_string(status) + ": " +
        summary(heard.mpirun));
  return std::max(status, worst);
}

}  // namespace

int run_under_mpirun(int ranks, std::span<char* const> argv) {
  std::vector<std::string> words = mpirun_command(ranks, argv);
  const base::HeldSignals signals;  // act when the ranks and the folder are gone
  const Folder folder;
  std::vector<std::string> variables =
      mpirun_environment(std::string(kFolderVariable) + "=" + folder.path().string());
  const std::vector<char*> word_pointers = pointers(words), variable_pointers = pointers(variables);
  base::ChildProcess mpirun(
      [&](int errors) { be_mpirun(word_pointers, variable_pointers, errors); });
  const Heard heard = listen(mpirun, folder.pipe(), signals);
  if (const int signal = signals.pending()) {
    show_others(folder.path(), ranks, heard.rank_0);
    return 128 + signal;
  }
  return verdict(folder.path(), ranks, heard, mpirun.wait());
}

void join_job(int rank) {
  const char* variable = std::getenv(kFolderVariable);
  if (variable == nullptr) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  static fs::path status;  // read when the process ends
  const fs::path folder = variable;
  ::unsetenv(kFolderVariable);  // a process that this one starts is no rank
  const int errors = ::open(errors_of(folder, rank).c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (errors < 0) return;
  ::dup2(errors, STDERR_FILENO);
  if (rank > 0) ::dup2(errors, STDOUT_FILENO);
  ::close(errors);
  status = status_of(folder, rank);
  std::ofstream(status).flush();
  on_exit([](int code, void*) { std::ofstream(status) << code; }, nullptr);
}

}  // namespace paceline::kernels
