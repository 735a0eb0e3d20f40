// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/rank.hpp"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/collective/world.hpp"
#include "kernels/host_load.hpp"

namespace paceline::hardware {

using kernels::Backend;
using kernels::Communicator;
using kernels::Event;
using sim::Task;
using sim::TaskId;

namespace {

/// Turns of waiting before the core is given to others.
constexpr int kPatience = 2000;

/// What is enqueued cannot be asked which of several messages came first.
bool ready_dispatch(const sim::EngineOptions& engine, const Backend& backend,
                    const Communicator& world) {
  const bool ready = engine.dispatch == models::Dispatch::Ready;
  if (ready && backend.enqueues && world.size() > 1)
    throw base::Error("schedule.dispatch",
                      std::string("ready dispatch between ranks does not run on ") + backend.name +
                          ", where messages meet in a fixed order",
                      "fixed, with --set schedule.dispatch=fixed");
  return ready;
}

/// The op whose kernels the task runs; null: it is busy for as long as the task takes.
const models::Op* op_of(const sim::TaskGraph& graph, const Task& task) {
  return task.segment < graph.kernels.size() ? graph.kernels[task.segment].get() : nullptr;
}

double needed_bytes(const sim::TaskGraph& graph, const RankPart& part, const Backend& backend) {
  double bytes = exchange_bytes(part);
  std::set<std::uint16_t> known;
  for (const RankTask& task : part.tasks) {
    const Task& t = graph.tasks[task.task];
    const models::Op* op = task.deed == Deed::Compute ? op_of(graph, t) : nullptr;
    if (op != nullptr && known.insert(t.segment).second) bytes += bytes_of(*op, backend);
  }
  return bytes;
}

/// The rank's part, if there is memory for it: a processor promises what it does not have. Devices
/// say so themselves. The same error on all ranks.
RankPart part_that_fits(const sim::TaskGraph& graph, const Backend& backend,
                        const Communicator& world) {
  RankPart part = part_of(graph, world.rank(), world.size());
  if (backend.enqueues || !kernels::on_one_machine(world)) return part;
  double needed = 0;
  for (const double bytes : kernels::gather_values(world, needed_bytes(graph, part, backend)))
    needed += bytes;
  const std::vector<double> free = kernels::gather_values(world, kernels::free_memory());
  const double there = *std::min_element(free.begin(), free.end());
  if (needed <= there) return part;
  throw base::Error("execute",
                    "kernels and messages of this step need " +
                        base::format_bytes(base::Bytes(needed)) + " of memory, " +
                        base::format_bytes(base::Bytes(there)) + " are free",
                    "a smaller model, batch or sequence");
}

}  // namespace

Rank::Rank(const sim::TaskGraph& graph, const sim::EngineOptions& engine, const Backend& backend,
           const Communicator& world, const Options& options)
    : graph_(graph),
      backend_(backend),
      world_(world),
      one_clock_(kernels::on_one_machine(world)),
      ready_(ready_dispatch(engine, backend, world)),
      part_(part_that_fits(graph, backend, world)),
      exchanges_(part_, graph, backend, world),
      comes_(graph.tasks.size(), nullptr),
      done_(graph.tasks.size(), false),
      start_(graph.tasks.size()),
      finish_(graph.tasks.size()) {
  for (const sim::Exchange* message : part_.receives) comes_[message->task] = message;
  note_waits();
  for (const RankTask& task : part_.tasks) {
    if (task.deed == Deed::Compute) prepare_segment(graph.tasks[task.task], options.seed);
  }
  make_streams_and_events();
}

Rank::~Rank() {
  for (const kernels::Stream stream : streams_) backend_.drop_stream(stream);
  for (const auto* events : {&start_, &finish_}) {
    for (const Event event : *events) {
      if (event.handle != nullptr) backend_.events.drop(event);
    }
  }
  backend_.events.drop(zero_);
}

void Rank::make_streams_and_events() {
  for (kernels::Stream& stream : streams_) stream = backend_.make_stream();
  zero_ = backend_.events.make();
  for (const RankTask& task : part_.tasks) {
    start_[task.task] = backend_.events.make();
    finish_[task.task] = backend_.events.make();
  }
  for (const sim::Exchange* message : part_.receives) {
    if (finish_[message->task].handle == nullptr) finish_[message->task] = backend_.events.make();
  }
}

/// Only what comes from elsewhere, may be overtaken or goes on in another stream has to be waited
/// for.
void Rank::note_waits() {
  waits_.resize(part_.tasks.size());
  for (std::size_t i = 0; i < part_.tasks.size(); ++i) {
    const RankTask& task = part_.tasks[i];
    for (const TaskId d : graph_.dependencies(task.task)) {
      const bool own = graph_.tasks[d].lane == graph_.tasks[task.task].lane;
      if (!own && comes_[d] == nullptr) {
        if (task.deed != Deed::Compute) continue;  // members of a collective wait for each other
        throw base::Error(graph_.segments[graph_.tasks[task.task].segment].name,
                          "waits for another rank that sends it nothing: this schedule does not "
                          "run here");
      }
      if (!own || ready_ || backend_.enqueues) waits_[i].push_back(d);
    }
  }
}

void Rank::prepare_segment(const Task& task, std::uint64_t seed) {
  const auto [found, fresh] = work_.try_emplace(task.segment);
  if (!fresh) return;
  const models::Op* op = op_of(graph_, task);
  if (op == nullptr) return;
  std::string note;
  found->second = prepare(*op, backend_, seed + task.segment, note);
  if (!note.empty()) substitutes_.push_back(note);
}

void Rank::step() {
  std::fill(done_.begin(), done_.end(), false);
  std::vector<std::size_t> left(part_.groups.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  exchanges_.begin();
  kernels::barrier(world_);
  backend_.events.record(zero_, streams_.front());
  backend_.wait(streams_.front());
  clock_ = Clock::now();
  while (!left.empty()) {
    const std::size_t next = ready_ ? wait_for_any(left) : 0;
    run_group(part_.groups[left[next]]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
  }
  for (const sim::Exchange* message : part_.receives) receive(message->task);
  for (const kernels::Stream stream : streams_) backend_.wait(stream);
  exchanges_.finish();
  if (one_clock_) align();
}

/// Processes of one machine read the same clock: times of all ranks count from when the first of
/// them started. Those of several machines start together as well as the barrier lets them.
void Rank::align() {
  const double own = std::chrono::duration<double>(clock_.time_since_epoch()).count();
  const std::vector<double> all = kernels::gather_values(world_, own);
  shift_ = own - *std::min_element(all.begin(), all.end());
}

void Rank::check_finite() const {
  for (const auto& [segment, work] : work_)
    hardware::check_finite(work, graph_.segments[segment].name);
}

void Rank::progress() {
  exchanges_.progress([&](const sim::Exchange& message) {
    backend_.events.record(finish_[message.task], {});
    done_[message.task] = true;
  });
}

bool Rank::can_start(std::size_t i) const {
  return std::all_of(waits_[i].begin(), waits_[i].end(), [&](TaskId d) { return done_[d]; });
}

template <class Ready>
void Rank::wait_until(const Ready& ready) {
  progress();
  for (int turn = 0; !ready(); ++turn) {
    if (turn > kPatience) sched_yield();
    progress();
  }
}

/// Of the groups left the first, in order, whose first task waits for nothing.
std::size_t Rank::wait_for_any(const std::vector<std::size_t>& left) {
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
bool Rank::startable(const Group& group) const {
  for (std::size_t i = group.first; i < group.last; ++i) {
    for (const TaskId d : waits_[i]) {
      const bool inside = d >= part_.tasks[group.first].task && d <= part_.tasks[i].task &&
                          graph_.tasks[d].lane == graph_.tasks[part_.tasks[i].task].lane;
      if (!inside && !done_[d]) return false;
    }
  }
  return true;
}

void Rank::run_group(const Group& group) {
  for (std::size_t i = group.first; i < group.last; ++i) {
    const kernels::Stream stream = stream_of(part_.tasks[i]);
    wait_for_inputs(i, stream);
    run_task(part_.tasks[i], stream);
  }
}

kernels::Stream Rank::stream_of(const RankTask& task) const {
  if (task.deed == Deed::Send) return exchanges_.stream_to(*task.exchange);
  return streams_[static_cast<std::size_t>(graph_.tasks[task.task].stream)];
}

/// Waits for the message, or enqueues that.
void Rank::receive(TaskId message) {
  if (!backend_.enqueues) return wait_until([&] { return done_[message] != 0; });
  if (done_[message]) return;
  exchanges_.expect(*comes_[message], [&](const sim::Exchange& next, kernels::Stream from) {
    backend_.events.record(finish_[next.task], from);
    done_[next.task] = true;
  });
}

/// This process, or the stream where there is one.
void Rank::wait_for_inputs(std::size_t i, kernels::Stream stream) {
  if (!backend_.enqueues) return wait_until([&] { return can_start(i); });
  for (const TaskId d : waits_[i]) {
    if (comes_[d] != nullptr) receive(d);
    backend_.events.await(stream, finish_[d]);
  }
}

void Rank::run_task(const RankTask& task, kernels::Stream stream) {
  backend_.events.record(start_[task.task], stream);
  switch (task.deed) {
    case Deed::Nothing:
      break;
    case Deed::Compute:
      compute(graph_.tasks[task.task], stream);
      break;
    case Deed::Send:
      exchanges_.send(*task.exchange);
      break;
    case Deed::Collective:
      exchanges_.collective(*task.exchange, graph_.tasks[task.task].stream, stream);
      break;
  }
  backend_.events.record(finish_[task.task], stream);
  done_[task.task] = true;
}

void Rank::compute(const Task& task, kernels::Stream stream) {
  const Work& work = work_.at(task.segment);
  if (!work.calls.empty()) return enqueue(work, backend_, stream);
  if (backend_.idle != nullptr) return backend_.idle(task.seconds, stream);
  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(task.seconds));
  while (Clock::now() < until) progress();
}

}  // namespace paceline::hardware
