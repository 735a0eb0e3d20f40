// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <csignal>

namespace paceline::base {

/// SIGINT, SIGTERM and SIGHUP wait while this lives, and act when it ends; the descriptor can be
/// read (polled) once one has come. Those that are ignored stay ignored: a blocked signal counts as
/// sent even so.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  int descriptor() const { return descriptor_; }
  /// One that waits; 0 for none.
  int pending() const;

 private:
  sigset_t held_{}, before_{};
  int descriptor_ = -1;
};

}  // namespace paceline::base
