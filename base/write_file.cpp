// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/temporary.hpp"
#include "base/write_all.hpp"

namespace paceline::base {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw Error(one_line(path), problem);
}

[[noreturn]] void fail_errno(const std::string& path) {
  fail(path, std::string("cannot be written: ") + std::strerror(errno));
}

/// Devices and pipes cannot be replaced by a rename: /dev/null must stay what it is.
void write_special(const std::string& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);  // no wait for a reader
  if (fd < 0) fail_errno(path);
  ::fcntl(fd, F_SETFL, O_WRONLY);
  const bool good = write_all(fd, content);
  const int problem = errno;
  ::close(fd);
  errno = problem;
  if (!good) fail_errno(path);
}

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    const bool good = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
    if (!good || std::fflush(stdout) != 0) fail_errno("standard output");
    return;
  }
  if (path.empty() || path.find('\0') != std::string::npos) fail("''", "is no file name");
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(path, "is a folder, not a file");
  if (exists && !S_ISREG(status.st_mode)) return write_special(path, content);
  if (exists && ::access(path.c_str(), W_OK) != 0) fail_errno(path);

  std::error_code error;
  std::filesystem::path target(path);
  if (exists) target = std::filesystem::canonical(target, error);  // keep a link a link
  if (error) fail(path, "cannot be written: " + error.message());
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    fail(path, "the folder " + quote(folder.string()) + " does not exist");
  }
  Temporary temporary;
  const int fd = temporary.create(folder, 0666);
  if (fd < 0) fail_errno(path);
  if (exists) ::fchmod(fd, status.st_mode & 07777);
  const bool written = write_all(fd, content);
  const int problem = errno;
  const bool closed = ::close(fd) == 0;
  if (!written) errno = problem;
  if (!written || !closed || !temporary.keep_as(target)) fail_errno(path);
}

}  // namespace paceline::base
