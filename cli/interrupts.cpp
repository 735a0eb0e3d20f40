// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupts.hpp"

#include <cstddef>
#include <iterator>

namespace paceline::cli {
namespace {

constexpr int kAsking[] = {SIGINT, SIGTERM};
// Handlers see nothing but what is static; both atomics are free of locks.
struct sigaction before_asking[std::size(kAsking)] = {};
std::atomic<bool> end_asked{false};
std::atomic<int> asking_signal{0};

void act_as_before() {
  for (std::size_t i = 0; i < std::size(kAsking); ++i)
    sigaction(kAsking[i], &before_asking[i], nullptr);
}

extern "C" void ask_for_end(int signal) {
  act_as_before();
  asking_signal = signal;
  end_asked = true;
}

}  // namespace

Interrupts::Interrupts() {
  end_asked = false;
  asking_signal = 0;
  struct sigaction ask = {};
  ask.sa_handler = ask_for_end;
  sigfillset(&ask.sa_mask);
  for (std::size_t i = 0; i < std::size(kAsking); ++i)
    sigaction(kAsking[i], nullptr, &before_asking[i]);
  for (std::size_t i = 0; i < std::size(kAsking); ++i)
    if (before_asking[i].sa_handler != SIG_IGN) sigaction(kAsking[i], &ask, nullptr);
}

Interrupts::~Interrupts() { act_as_before(); }

const std::atomic<bool>& Interrupts::stop() const { return end_asked; }

int Interrupts::signal() const { return asking_signal; }

}  // namespace paceline::cli
