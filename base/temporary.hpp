// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>

namespace paceline::base {

/// A hidden new file that is renamed to its final name once it is complete, and removed otherwise:
/// by the destructor, or by remove_temporaries() when a signal ends the process.
class Temporary {
 public:
  Temporary() = default;  ///< none yet
  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&&) = delete;
  ~Temporary();

  /// Creates it in `folder` with `mode` under the umask, once per object. Returns a descriptor open
  /// for writing, which the caller closes; -1, with errno set, where that fails.
  int create(const std::string& folder, mode_t mode);
  bool exists() const { return !path_.empty(); }
  /// Renames it; false, with errno set, where that fails.
  bool keep_as(const std::string& target);

 private:
  void forget();
  std::string path_;  ///< "" = no file
  int slot_ = -1;     ///< where a signal handler finds the path; -1 = nowhere
};

/// Removes the files of all Temporary objects. Calls nothing but unlink: for signal handlers that
/// then end the process.
void remove_temporaries() noexcept;

}  // namespace paceline::base
