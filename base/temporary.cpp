// SPDX-License-Identifier: Apache-2.0
#include "base/temporary.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <utility>

namespace paceline::base {
namespace {

/// Paths where a signal handler finds them: it can neither be handed an object nor read memory that
/// may be freed meanwhile, hence fixed buffers.
struct Slot {
  enum State { kFree, kTaken, kHoldsFile };
  std::atomic<int> state{kFree};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Slot, 8> slots;

/// More files than slots at once, or a path no system call takes, are not registered (-1).
int register_path(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int free = Slot::kFree;
    if (!slots[i].state.compare_exchange_strong(free, Slot::kTaken)) continue;
    slots[i].path[path.copy(slots[i].path.data(), path.size())] = '\0';
    slots[i].state = Slot::kHoldsFile;
    return static_cast<int>(i);
  }
  return -1;
}

/// No signal is handled between the creation of a file and its registration.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Temporary::Temporary(Temporary&& other) noexcept
    : path_(std::exchange(other.path_, "")), slot_(std::exchange(other.slot_, -1)) {}

Temporary::~Temporary() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  forget();
}

int Temporary::create(const std::string& folder, mode_t mode) {
  const SignalsHeld held;
  // The process id keeps two runs apart, the counter two files and leftovers.
  const std::string prefix = folder + "/.paceline-" + std::to_string(::getpid()) + "-";
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string path = prefix + std::to_string(attempt);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return fd;
    path_ = path;
    slot_ = register_path(path_);
    return fd;
  }
  return -1;
}

bool Temporary::keep_as(const std::string& target) {
  if (std::rename(path_.c_str(), target.c_str()) != 0) return false;
  forget();
  return true;
}

void Temporary::forget() {
  path_.clear();
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state = Slot::kFree;
  slot_ = -1;
}

void remove_temporaries() noexcept {
  for (const Slot& slot : slots) {
    if (slot.state == Slot::kHoldsFile) ::unlink(slot.path.data());
  }
}

}  // namespace paceline::base
