// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "cli/command.hpp"

namespace paceline::cli {

void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO) == 0 || quiet()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

Progress::Progress(std::string what, std::size_t total) : what_(std::move(what)), total_(total) {}

Progress::~Progress() { show_progress(""); }

void Progress::step() { reached(done_ + 1); }

void Progress::reached(std::size_t done) {
  done_ = done;
  const Clock::time_point now = Clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done_) / seconds;
  show_progress(what_ + ": " + std::to_string(done_) + " of " + std::to_string(total_) + ", " +
                base::format_count(rate) + "/s, " +
                base::format_fixed(static_cast<double>(total_ - done_) / rate, 0) + " s left");
}

}  // namespace paceline::cli
