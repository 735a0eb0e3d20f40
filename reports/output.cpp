// SPDX-License-Identifier: Apache-2.0
#include "reports/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"

namespace paceline::reports {

namespace {

/// Never 0, 1 or 2: a caller that closed standard output must not find its file there.
int above_standard(int descriptor) {
  if (descriptor < 0 || descriptor > 2) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  const int kept = errno;
  close(descriptor);
  errno = kept;
  return moved;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_ == "-") {
    const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    file_ = copy < 0 ? nullptr : fdopen(copy, "wb");
    if (file_ == nullptr) fail("cannot write standard output");
    return;
  }
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const fs::path resolved = fs::canonical(path_, ignored); !ignored) target_ = resolved;
  struct stat info {};
  const bool exists = stat(target_.c_str(), &info) == 0;
  if (path_.empty() || path_.back() == '/' || (exists && S_ISDIR(info.st_mode))) {
    throw base::Error("cannot write '" + path_ + "': it names a folder", "give a file name");
  }
  if (exists && !S_ISREG(info.st_mode)) {  // a pipe or device cannot be replaced
    const int descriptor = above_standard(open(target_.c_str(), O_WRONLY | O_CLOEXEC));
    file_ = descriptor < 0 ? nullptr : fdopen(descriptor, "wb");
    if (file_ == nullptr) fail("cannot write");
    return;
  }
  if (exists && access(target_.c_str(), W_OK) != 0) fail("cannot write");
  const std::string folder = fs::path(target_).parent_path().string();
  const int descriptor = above_standard(temporary_.create(folder.empty() ? "." : folder, 0666));
  if (descriptor < 0) fail("cannot write");
  if (exists) fchmod(descriptor, info.st_mode & 07777);
  file_ = fdopen(descriptor, "wb");
  if (file_ == nullptr) fail("cannot write");
  replaces_ = true;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      file_(std::exchange(other.file_, nullptr)),
      replaces_(other.replaces_) {}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::fail(const char* what) const {
  const char* reason = std::strerror(errno);
  throw base::Error(std::string(what) + (path_ == "-" ? "" : " '" + path_ + "'"), reason);
}

void OutputFile::write(std::string_view text) {
  if (file_ == nullptr) return;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && errno != EPIPE) {
    fail("cannot write");
  }
}

void OutputFile::flush() {
  // A reader that went away (`| head`) is no error of ours.
  if (file_ != nullptr && std::fflush(file_) != 0 && errno != EPIPE) fail("cannot write");
}

void OutputFile::publish() {
  flush();
  if (temporary_.exists() && !temporary_.keep_as(target_)) fail("cannot write");
}

void OutputFile::commit() {
  flush();
  std::FILE* file = std::exchange(file_, nullptr);
  if (file != nullptr && std::fclose(file) != 0 && errno != EPIPE) fail("cannot write");
  if (temporary_.exists() && !temporary_.keep_as(target_)) fail("cannot write");
}

}  // namespace paceline::reports
