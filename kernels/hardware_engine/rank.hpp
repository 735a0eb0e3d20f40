// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "kernels/hardware_engine/exchange.hpp"
#include "kernels/hardware_engine/hardware.hpp"
#include "kernels/hardware_engine/work.hpp"

namespace paceline::hardware {

/// A rank's own part of the graph and what its kernels need. Kernels and collectives go into one
/// stream for each kind of stream of the graph, with events around every task. On a GPU streams
/// wait for events, and this process for the end of the step; on a processor, where work is done
/// when it is enqueued, this process itself waits for messages before their receivers.
class Rank {
 public:
  Rank(const sim::TaskGraph& graph, const sim::EngineOptions& engine,
       const kernels::Backend& backend, const kernels::Communicator& world, const Options& options);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank();

  /// One step; its times are there until the next.
  void step();
  const RankPart& part() const { return part_; }
  double start(sim::TaskId t) const { return time(start_[t]); }
  double finish(sim::TaskId t) const { return time(finish_[t]); }
  const std::vector<std::string>& substitutes() const { return substitutes_; }
  void check_finite() const;

 private:
  using Clock = std::chrono::steady_clock;
  void make_streams_and_events();
  void note_waits();
  void prepare_segment(const sim::Task& task, std::uint64_t seed);
  void align();
  /// Seconds since the first rank started.
  double time(kernels::Event event) const { return backend_.events.seconds(zero_, event) + shift_; }

  void progress();
  bool can_start(std::size_t i) const;
  template <class Ready>
  void wait_until(const Ready& ready);
  std::size_t wait_for_any(const std::vector<std::size_t>& left);
  bool startable(const Group& group) const;
  void run_group(const Group& group);
  void receive(sim::TaskId message);
  void wait_for_inputs(std::size_t i, kernels::Stream stream);
  kernels::Stream stream_of(const RankTask& task) const;
  void run_task(const RankTask& task, kernels::Stream stream);
  void compute(const sim::Task& task, kernels::Stream stream);

  const sim::TaskGraph& graph_;
  const kernels::Backend& backend_;
  const kernels::Communicator& world_;
  const bool one_clock_;
  const bool ready_;
  const RankPart part_;
  Exchanges exchanges_;
  std::array<kernels::Stream, sim::kStreams> streams_{};
  std::map<std::uint16_t, Work> work_;           ///< by segment
  std::vector<std::vector<sim::TaskId>> waits_;  ///< by own task
  std::vector<const sim::Exchange*> comes_;      ///< by task: messages to this rank
  std::vector<char> done_;                       ///< by task, as far as this process knows
  std::vector<kernels::Event> start_, finish_;   ///< by task: own ones, and messages that come
  kernels::Event zero_;                          ///< when the step started
  Clock::time_point clock_;                      ///< at that moment
  double shift_ = 0;  ///< of this rank's start behind the first's, in the last step
  std::vector<std::string> substitutes_;
};

}  // namespace paceline::hardware
