// SPDX-License-Identifier: Apache-2.0
#include "base/held_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace paceline::base {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int signal : kSignals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&held_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
  descriptor_ = signalfd(-1, &held_, SFD_CLOEXEC);
}

HeldSignals::~HeldSignals() {
  if (descriptor_ >= 0) ::close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int HeldSignals::pending() const {
  sigset_t waiting;
  sigpending(&waiting);
  for (const int signal : kSignals)
    if (sigismember(&held_, signal) == 1 && sigismember(&waiting, signal) == 1) return signal;
  return 0;
}

}  // namespace paceline::base
