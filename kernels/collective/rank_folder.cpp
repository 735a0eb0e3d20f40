// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/rank_folder.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/write_all.hpp"
#include "kernels/collective/mpirun.hpp"

namespace paceline::kernels {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& name) {
  throw base::Error(name.string(), std::strerror(errno),
                    "ranks need a folder for temporary files (TMPDIR)");
}

fs::path file_of(const fs::path& folder, int rank, const char* kind) {
  return folder / (std::to_string(rank) + kind);
}
fs::path errors_of(const fs::path& folder, int rank) { return file_of(folder, rank, ".err"); }
fs::path output_of(const fs::path& folder, int rank) { return file_of(folder, rank, ".out"); }
/// Empty while the rank runs; then its exit status.
fs::path status_of(const fs::path& folder, int rank) { return file_of(folder, rank, ".status"); }

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kKeptText, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

void redirect(int stream, const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY, 0600);
  if (descriptor < 0) return;  // then mpirun passes it on
  ::dup2(descriptor, stream);
  ::close(descriptor);
}

}  // namespace

// Open at both ends: it does not end when rank 0 closes it.
RankStream::RankStream(const fs::path& name, int like) : like_(like) {
  if (::isatty(like) == 1) {
    make_terminal(name);
  } else if (::mkfifo(name.c_str(), 0600) == 0) {
    reader_ = ::open(name.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  if (reader_ < 0) fail(name);
}

/// A pseudo-terminal that changes no byte; that of the user does what is to be done.
void RankStream::make_terminal(const fs::path& name) {
  const int reader = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  std::array<char, 128> path{};
  if (reader < 0 || ::grantpt(reader) != 0 || ::unlockpt(reader) != 0 ||
      ::ptsname_r(reader, path.data(), path.size()) != 0 ||
      ::symlink(path.data(), name.c_str()) != 0)
    fail(name);
  other_end_ = ::open(path.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (other_end_ < 0) fail(name);
  termios settings{};
  ::tcgetattr(other_end_, &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(other_end_, TCSANOW, &settings);
  winsize size{};
  if (::ioctl(like_, TIOCGWINSZ, &size) == 0) ::ioctl(other_end_, TIOCSWINSZ, &size);
  reader_ = reader;
}

RankStream::~RankStream() {
  if (reader_ >= 0) ::close(reader_);
  if (other_end_ >= 0) ::close(other_end_);
}

void RankStream::pass_on() {
  std::array<char, 16384> buffer;
  for (ssize_t got; (got = ::read(reader_, buffer.data(), buffer.size())) > 0;) {
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    base::write_all(like_, text);
    if (kept_.size() < kKeptText) kept_ += text;
  }
}

RankFolder::RankFolder() {
  std::error_code ignored;
  fs::path parent = fs::temp_directory_path(ignored);
  if (parent.empty()) parent = "/tmp";
  std::string name = (parent / "paceline-ranks-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail(name);
  path_ = name;
}

RankFolder::~RankFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

RankZero::RankZero(const RankFolder& folder)
    : output(output_of(folder.path(), 0), STDOUT_FILENO),
      errors(errors_of(folder.path(), 0), STDERR_FILENO) {}

bool show_other_ranks(const RankFolder& folder, int ranks, const std::string& rank_0) {
  std::set<std::string> shown;
  std::istringstream first(rank_0);
  for (std::string line; std::getline(first, line);) shown.insert(line);
  bool said = !shown.empty();
  for (int rank = 1; rank < ranks; ++rank) {
    std::istringstream text(text_of(errors_of(folder.path(), rank)));
    for (std::string line; std::getline(text, line);) {
      if (line.empty() || !shown.insert(line).second) continue;
      base::write_all(STDERR_FILENO, "rank " + std::to_string(rank) + ": " + line + "\n");
      said = true;
    }
  }
  return said;
}

int worst_status(const RankFolder& folder, int ranks) {
  int worst = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path file = status_of(folder.path(), rank);
    if (!fs::exists(file)) return -1;
    worst = std::max(worst, std::atoi(text_of(file).c_str()));
  }
  return worst;
}

void join_job(int rank) {
  const char* variable = std::getenv(kRankFolderVariable);
  if (variable == nullptr) return;
  const fs::path folder = variable;
  ::unsetenv(kRankFolderVariable);  // a process that this one starts is no rank
  if (!fs::is_directory(folder)) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  redirect(STDERR_FILENO, errors_of(folder, rank));
  redirect(STDOUT_FILENO, rank == 0 ? output_of(folder, rank) : errors_of(folder, rank));
  static fs::path status;  // for the end of the process
  status = status_of(folder, rank);
  std::ofstream(status).flush();
  on_exit([](int code, void*) { std::ofstream(status) << code; }, nullptr);
}

}  // namespace paceline::kernels
