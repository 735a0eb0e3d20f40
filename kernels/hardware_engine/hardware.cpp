// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/hardware.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "kernels/hardware_engine/exchange.hpp"
#include "kernels/hardware_engine/work.hpp"

namespace paceline::hardware {
namespace {

using kernels::Backend;
using kernels::Communicator;
using sim::Task;
using sim::TaskId;

using Clock = std::chrono::steady_clock;

/// Turns of waiting before the core is given to others.
constexpr int kPatience = 2000;

/// The rank's own part of the graph and what its kernels need.
class Rank {
 public:
  Rank(const sim::TaskGraph& graph, const sim::EngineOptions& engine, const Backend& backend,
       const Communicator& world, const Options& options)
      : graph_(graph),
        backend_(backend),
        world_(world),
        one_clock_(on_one_machine(world)),
        ready_(engine.dispatch == models::Dispatch::Ready),
        part_(part_of(graph, world.rank(), world.size())),
        exchanges_(part_, backend, world),
        stream_(backend.make_stream()),
        done_(graph.tasks.size(), false),
        start_(graph.tasks.size(), 0),
        finish_(graph.tasks.size(), 0) {
    note_waits();
    for (const RankTask& task : part_.tasks) {
      if (task.deed == Deed::Compute) prepare_segment(graph.tasks[task.task], options.seed);
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { backend_.drop_stream(stream_); }

  /// One step; times are in start() and finish() until the next.
  void step() {
    std::fill(done_.begin(), done_.end(), false);
    std::vector<std::size_t> left(part_.groups.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    exchanges_.begin();
    kernels::barrier(world_);
    zero_ = Clock::now();
    while (!left.empty()) {
      const std::size_t next = ready_ ? wait_for_any(left) : 0;
      run_group(part_.groups[left[next]]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
    }
    exchanges_.finish();
    if (one_clock_) align();
  }

  const RankPart& part() const { return part_; }
  double start(TaskId t) const { return start_[t] + shift_; }
  double finish(TaskId t) const { return finish_[t] + shift_; }
  const std::vector<std::string>& substitutes() const { return substitutes_; }
  void check_finite() const {
    for (const auto& [segment, work] : work_)
      hardware::check_finite(work, graph_.segments[segment].name);
  }

 private:
  /// Processes of one machine read the same clock; those of several start together as well as the
  /// barrier lets them.
  static bool on_one_machine(const Communicator& world) {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    const auto own = static_cast<double>(std::hash<std::string_view>()(name.data()) >> 12);
    const std::vector<double> all = kernels::gather_values(world, own);
    return std::all_of(all.begin(), all.end(), [&](double other) { return other == own; });
  }
  /// Times of all ranks count from when the first of them started.
  void align() {
    const double own = std::chrono::duration<double>(zero_.time_since_epoch()).count();
    const std::vector<double> all = kernels::gather_values(world_, own);
    shift_ = own - *std::min_element(all.begin(), all.end());
  }

  double now() const { return std::chrono::duration<double>(Clock::now() - zero_).count(); }

  /// Only what comes from elsewhere or may be overtaken has to be waited for.
  void note_waits() {
    waits_.resize(part_.tasks.size());
    std::vector<bool> comes(graph_.tasks.size(), false);
    for (const sim::Exchange* message : part_.receives) comes[message->task] = true;
    for (std::size_t i = 0; i < part_.tasks.size(); ++i) {
      const RankTask& task = part_.tasks[i];
      for (const TaskId d : graph_.dependencies(task.task)) {
        const bool own = graph_.tasks[d].lane == graph_.tasks[task.task].lane;
        if (!own && !comes[d]) {
          if (task.deed != Deed::Compute) continue;  // members of a collective wait for each other
          throw base::Error(graph_.segments[graph_.tasks[task.task].segment].name,
                            "waits for another rank that sends it nothing: this schedule does not "
                            "run here");
        }
        if (!own || ready_) waits_[i].push_back(d);
      }
    }
  }

  void prepare_segment(const Task& task, std::uint64_t seed) {
    const auto [found, fresh] = work_.try_emplace(task.segment);
    if (!fresh) return;
    const bool known =
        task.segment < graph_.kernels.size() && graph_.kernels[task.segment] != nullptr;
    if (!known) return;  // busy for as long as the task takes
    std::string note;
    found->second = prepare(*graph_.kernels[task.segment], backend_, seed + task.segment, note);
    if (!note.empty()) substitutes_.push_back(note);
  }

  void progress() {
    exchanges_.progress([&](const sim::Exchange& message) {
      finish_[message.task] = now();
      done_[message.task] = true;
    });
  }
  bool can_start(std::size_t i) const {
    return std::all_of(waits_[i].begin(), waits_[i].end(), [&](TaskId d) { return done_[d]; });
  }
  template <class Ready>
  void wait_until(const Ready& ready) {
    progress();
    for (int turn = 0; !ready(); ++turn) {
      if (turn > kPatience) sched_yield();
      progress();
    }
  }

  /// Of the groups left the first, in order, whose first task waits for nothing.
  std::size_t wait_for_any(const std::vector<std::size_t>& left) {
    std::size_t chosen = left.size();
    wait_until([&] {
      const auto found = std::find_if(left.begin(), left.end(),
                                      [&](std::size_t g) { return startable(part_.groups[g]); });
      chosen = static_cast<std::size_t>(found - left.begin());
      return found != left.end();
    });
    return chosen;
  }
  /// All that tasks of the group need of others is there.
  bool startable(const Group& group) const {
    for (std::size_t i = group.first; i < group.last; ++i) {
      for (const TaskId d : waits_[i]) {
        const bool inside = d >= part_.tasks[group.first].task && d <= part_.tasks[i].task &&
                            graph_.tasks[d].lane == graph_.tasks[part_.tasks[i].task].lane;
        if (!inside && !done_[d]) return false;
      }
    }
    return true;
  }

  void run_group(const Group& group) {
    for (std::size_t i = group.first; i < group.last; ++i) {
      wait_until([&] { return can_start(i); });
      run_task(part_.tasks[i]);
    }
  }

  void run_task(const RankTask& task) {
    start_[task.task] = now();
    switch (task.deed) {
      case Deed::Nothing:
        break;
      case Deed::Compute:
        compute(graph_.tasks[task.task]);
        break;
      case Deed::Send:
        exchanges_.send(*task.exchange);
        break;
      case Deed::Collective:
        exchanges_.collective(*task.exchange);
        break;
    }
    finish_[task.task] = now();
    done_[task.task] = true;
  }

  void compute(const Task& task) {
    const Work& work = work_.at(task.segment);
    if (!work.calls.empty()) {
      enqueue(work, backend_, stream_);
      backend_.wait(stream_);
      return;
    }
    const double until = now() + task.seconds;
    while (now() < until) progress();
  }

  const sim::TaskGraph& graph_;
  const Backend& backend_;
  const Communicator& world_;
  const bool one_clock_;
  const bool ready_;
  const RankPart part_;
  Exchanges exchanges_;
  const kernels::Stream stream_;
  std::map<std::uint16_t, Work> work_;      ///< by segment
  std::vector<std::vector<TaskId>> waits_;  ///< by own task
  std::vector<char> done_;                  ///< by task: own ones, and messages that came
  std::vector<double> start_, finish_;      ///< by task
  Clock::time_point zero_;
  double shift_ = 0;  ///< of this rank's start behind the first's, in the last step
  std::vector<std::string> substitutes_;
};

/// What a rank tells of a step: start and finish of its tasks, then when its messages came.
void append_times(const Rank& rank, std::vector<double>& times) {
  for (const RankTask& task : rank.part().tasks) {
    times.push_back(rank.start(task.task));
    times.push_back(rank.finish(task.task));
  }
  for (const sim::Exchange* message : rank.part().receives)
    times.push_back(rank.finish(message->task));
}

std::size_t times_of(const RankPart& part) { return 2 * part.tasks.size() + part.receives.size(); }

/// Times of one rank and step into the timeline of all.
void read_times(const RankPart& part, const double* times, sim::Timeline& timeline) {
  for (const RankTask& task : part.tasks) {
    timeline.start[task.task] = *times++;
    const double finish = *times++;
    if (task.deed != Deed::Send) timeline.finish[task.task] = finish;
  }
  for (const sim::Exchange* message : part.receives) timeline.finish[message->task] = *times++;
}

/// All ranks' times of all steps, one after another.
std::vector<double> gather_times(const Communicator& world, const std::vector<RankPart>& parts,
                                 int steps, std::vector<double>& own) {
  std::vector<std::int64_t> counts;
  std::int64_t all = 0;
  for (const RankPart& part : parts) {
    counts.push_back(static_cast<std::int64_t>(times_of(part) * sizeof(double)) * steps);
    all += counts.back();
  }
  std::vector<double> result(static_cast<std::size_t>(all) / sizeof(double));
  const kernels::Tensor send{own.data(), kernels::DType::U8,
                             counts[static_cast<std::size_t>(world.rank())]};
  const kernels::Tensor recv{result.data(), kernels::DType::U8, all};
  kernels::all_gather_v(world.host(), send, recv, counts);
  return result;
}

sim::Timeline timeline_of(const sim::TaskGraph& graph, const std::vector<RankPart>& parts,
                          const std::vector<double>& times, int steps, int step) {
  sim::Timeline timeline;
  timeline.start.assign(graph.tasks.size(), 0);
  timeline.finish.assign(graph.tasks.size(), 0);
  std::size_t at = 0;
  for (const RankPart& part : parts) {
    read_times(part, times.data() + at + times_of(part) * static_cast<std::size_t>(step), timeline);
    at += times_of(part) * static_cast<std::size_t>(steps);
  }
  for (const double finish : timeline.finish)
    timeline.makespan = std::max(timeline.makespan, finish);
  return timeline;
}

/// The step in the middle by its makespan.
Run summarise(const sim::TaskGraph& graph, const std::vector<RankPart>& parts,
              const std::vector<double>& times, int steps) {
  Run run;
  std::vector<sim::Timeline> timelines;
  for (int step = 0; step < steps; ++step) {
    timelines.push_back(timeline_of(graph, parts, times, steps, step));
    run.step_seconds.push_back(timelines.back().makespan);
  }
  std::vector<std::size_t> order(timelines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return timelines[a].makespan < timelines[b].makespan;
  });
  run.timeline = std::move(timelines[order[order.size() / 2]]);
  return run;
}

}  // namespace

Run run(const sim::TaskGraph& graph, const sim::EngineOptions& engine, const Backend& backend,
        const Communicator& world, const Options& options) {
  PACELINE_CHECK(options.steps > 0 && options.warmups >= 0);
  Rank rank(graph, engine, backend, world, options);
  std::vector<double> own;
  for (int i = 0; i < options.warmups + options.steps; ++i) {
    rank.step();
    if (i >= options.warmups) append_times(rank, own);
  }
  rank.check_finite();
  std::vector<RankPart> parts;
  for (int r = 0; r < world.size(); ++r) parts.push_back(part_of(graph, r, world.size()));
  const std::vector<double> times = gather_times(world, parts, options.steps, own);
  Run result = summarise(graph, parts, times, options.steps);
  result.substitutes = rank.substitutes();
  return result;
}

}  // namespace paceline::hardware
