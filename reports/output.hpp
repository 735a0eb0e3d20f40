// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "base/temporary.hpp"

namespace paceline::reports {

/// A file that appears whole or not at all. Opening it proves that the path can be written, so
/// long work can start afterwards; the content goes to a hidden neighbour that commit() renames.
/// "-" is standard output; pipes and devices are written directly. All errors are base::Error.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  ///< closes it; what was not committed is removed

  void write(std::string_view text);
  /// Everything is on its way to the disk: fails here rather than in commit().
  void flush();
  void commit();

  /// Whether the path is a regular file, which can be replaced, and not a pipe or device.
  bool replaces() const { return replaces_; }
  /// Takes the place of the file now, with what was written so far, and grows with every flush():
  /// for results that come one by one. Only where replaces().
  void publish();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;           ///< as given, for messages
  std::string target_;         ///< with links resolved
  base::Temporary temporary_;  ///< none when written directly
  std::FILE* file_ = nullptr;
  bool replaces_ = false;
};

}  // namespace paceline::reports
