// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

namespace paceline::base {

/// How a process ended: by a signal, or with a status.
struct ChildEnd {
  int signal = 0;
  int status = 0;
  bool well() const { return signal == 0 && status == 0; }
};
/// "signal 11 (Segmentation fault)", "exit status 7".
std::string to_text(const ChildEnd& end);

/// A forked copy of this process that does one piece of work and ends without returning: what
/// crashes there costs nothing here. It never outlives the process that started it, and signals
/// that ask that one to end do not make the copy clean up after it.
class ChildProcess {
 public:
  /// `work` writes what it has to say to the descriptor it is given. The process ends with status 0
  /// when it returns and with kThrew when it throws. base::Error when no process can be started.
  explicit ChildProcess(const std::function<void(int output)>& work);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  ///< ends it, when it has not been waited for

  static constexpr int kThrew = 70;  ///< EX_SOFTWARE of sysexits.h

  /// What the work writes can be read here, to the end of the file.
  int output() const { return output_; }
  /// Asks it to end (SIGTERM).
  void ask_to_end();
  /// Until it ends.
  ChildEnd wait();

 private:
  pid_t pid_ = -1;   ///< -1: waited for
  int output_ = -1;  ///< -1: moved away
};

}  // namespace paceline::base
