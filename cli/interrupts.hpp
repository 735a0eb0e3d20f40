// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <csignal>

namespace paceline::cli {

/// While this lives the first SIGINT or SIGTERM asks for an end; the second one does what it did
/// before. Those that are ignored stay ignored. One at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  /// True once an end is asked for.
  const std::atomic<bool>& stop() const;
  /// The signal that asked; 0: none.
  int signal() const;
};

}  // namespace paceline::cli
