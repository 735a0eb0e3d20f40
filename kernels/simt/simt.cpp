// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/simt.hpp"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/simt/mma.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace paceline::kernels::simt {

void fail(const char* what) {
  std::fprintf(stderr, "simt: %s\n", what);
  std::abort();
}

namespace {

constexpr std::size_t kStack = 128 * 1024;

enum class State : std::uint8_t { Ready, AtBlock, AtWarp, Ended };

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  Place place;
  State state = State::Ended;
  std::uint32_t mask = 0;        ///< while AtWarp
  std::source_location barrier;  ///< while AtBlock
  void* fake_stack = nullptr;    ///< AddressSanitizer's
};

struct Warp {
  std::uint64_t exchange[32] = {};
};

/// One block at a time; fibers and their stacks are kept between blocks and launches.
class Block {
 public:
  void run(dim3 grid, dim3 block_index, dim3 size, const std::function<void()>& body) {
    body_ = &body;
    const std::size_t threads = std::size_t{size.x} * size.y * size.z;
    if (threads == 0 || threads > 1024) fail("a block has 1 to 1024 threads");
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
    warps_.assign((threads + 31) / 32, {});
    count_ = threads;
    descending_ = (++blocks_ * 0x9e3779b97f4a7c15U >> 63) != 0;  // evenly mixed, always alike
    for (std::size_t t = 0; t < threads; ++t) start(t, grid, block_index, size);
    while (step()) {
    }
    if (copies_under_way()) fail("a thread ended without waiting for its asynchronous copies");
  }

  Fiber& current() { return *fibers_[running_]; }
  Warp& warp() { return warps_[running_ / 32]; }

  void wait_for_warp(std::uint32_t mask) {
    current().mask = mask;
    wait(State::AtWarp);
  }
  void wait_for_block(std::source_location here) {
    current().barrier = here;
    wait(State::AtBlock);
  }

 private:
  void wait(State state) {
    current().state = state;
    leave(false);
  }

  static void entry() {
    Block& block = instance();
    block.arrived();
    (*block.body_)();
    block.current().state = State::Ended;
    block.leave(true);
  }

  void start(std::size_t t, dim3 grid, dim3 block_index, dim3 size) {
    Fiber& fiber = *fibers_[t];
    if (!fiber.stack) fiber.stack = std::make_unique<char[]>(kStack);
    const auto i = static_cast<unsigned>(t);
    fiber.place = {
        {i % size.x, i / size.x % size.y, i / size.x / size.y}, block_index, size, grid, i % 32};
    fiber.state = State::Ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, entry, 0);
  }

  /// Runs every fiber that can, then opens barriers; false when all have ended.
  bool step() {
    bool ran = false;
    for (std::size_t i = 0; i < count_; ++i) {
      running_ = descending_ ? count_ - 1 - i : i;
      if (current().state != State::Ready) continue;
      ran = true;
      enter();
    }
    const bool opened = open_warps() || open_block();
    if (ran || opened) return true;
    for (std::size_t t = 0; t < count_; ++t) {
      if (fibers_[t]->state != State::Ended) fail("threads wait for others that never come");
    }
    return false;
  }

  bool open_warps() {
    bool opened = false;
    for (std::size_t t = 0; t < count_; ++t) {
      if (fibers_[t]->state != State::AtWarp) continue;
      const std::uint32_t mask = fibers_[t]->mask;
      if ((mask >> t % 32 & 1U) == 0) fail("a thread is not in its own mask");
      const std::size_t first = t / 32 * 32;
      bool all = true;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1U) == 0) continue;
        if (first + lane >= count_ || fibers_[first + lane]->state == State::Ended)
          fail("a mask names a thread that has ended");
        const Fiber& other = *fibers_[first + lane];
        all = all && other.state == State::AtWarp && other.mask == mask;
      }
      if (!all) continue;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1U) != 0) fibers_[first + lane]->state = State::Ready;
      }
      opened = true;
    }
    return opened;
  }

  bool open_block() {
    const Fiber* waiting = nullptr;
    for (std::size_t t = 0; t < count_; ++t) {
      const Fiber& fiber = *fibers_[t];
      if (fiber.state == State::Ready || fiber.state == State::AtWarp) return false;
      if (fiber.state != State::AtBlock) continue;
      if (waiting != nullptr &&
          (waiting->barrier.line() != fiber.barrier.line() ||
           std::strcmp(waiting->barrier.file_name(), fiber.barrier.file_name()) != 0))
        fail("threads of a block wait at different barriers");
      waiting = &fiber;
    }
    for (std::size_t t = 0; waiting != nullptr && t < count_; ++t) {
      if (fibers_[t]->state == State::AtBlock) fibers_[t]->state = State::Ready;
    }
    return waiting != nullptr;
  }

#ifdef __SANITIZE_ADDRESS__
  void enter() {
    void* own = nullptr;
    __sanitizer_start_switch_fiber(&own, current().stack.get(), kStack);
    swapcontext(&main_, &current().context);
    __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
  }
  void leave(bool ended) {
    Fiber& fiber = current();
    __sanitizer_start_switch_fiber(ended ? nullptr : &fiber.fake_stack, main_stack_, main_size_);
    swapcontext(&fiber.context, &main_);
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &main_stack_, &main_size_);
  }
  void arrived() { __sanitizer_finish_switch_fiber(nullptr, &main_stack_, &main_size_); }
  const void* main_stack_ = nullptr;
  std::size_t main_size_ = 0;
#else
  void enter() { swapcontext(&main_, &current().context); }
  void leave(bool) { swapcontext(&current().context, &main_); }
  void arrived() {}
#endif

 public:
  static Block& instance() {
    static thread_local Block block;
    return block;
  }
  std::vector<std::uint64_t> shared;

 private:
  ucontext_t main_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  std::size_t count_ = 0, running_ = 0;
  std::uint64_t blocks_ = 0;
  bool descending_ = false;
  const std::function<void()>* body_ = nullptr;
};

}  // namespace

const Place& place() { return Block::instance().current().place; }
void wait_for_block(std::source_location here) { Block::instance().wait_for_block(here); }
void wait_for_warp(std::uint32_t mask) { Block::instance().wait_for_warp(mask); }
std::uint64_t* exchange() { return Block::instance().warp().exchange; }
void* shared_memory() { return Block::instance().shared.data(); }

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& body) {
  Block& runner = Block::instance();
  runner.shared.resize(shared_bytes / 8 + 1);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        std::memset(runner.shared.data(), 0xee, runner.shared.size() * 8);
        runner.run(grid, {x, y, z}, block, body);
      }
    }
  }
}

}  // namespace paceline::kernels::simt

std::uint32_t __ballot_sync(std::uint32_t mask, int predicate) {
  namespace simt = paceline::kernels::simt;
  std::uint64_t* values = simt::exchange();
  values[simt::place().lane] = predicate != 0 ? 1 : 0;
  simt::wait_for_warp(mask);
  std::uint32_t result = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0 && values[lane] != 0) result |= 1U << lane;
  }
  simt::wait_for_warp(mask);
  return result;
}
