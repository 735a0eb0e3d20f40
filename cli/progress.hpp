// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace paceline::cli {

/// One line that replaces the one before, on standard error where that is a terminal; "" takes it
/// away.
void show_progress(const std::string& text);

/// "sweep: 1200 of 10000, 480/s, 18 s left", a few times a second.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();  ///< takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step();
  void reached(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::size_t total_, done_ = 0;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace paceline::cli
