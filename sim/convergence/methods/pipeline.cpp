// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>

#include "models/scenario/schedule_choice.hpp"
#include "sim/convergence/method.hpp"
#include "sim/convergence/pipeline_events.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim::convergence {
namespace {

using Event = PipelineEvent;

struct Pipeline {
  std::string schedule = "pipedream";
  int stages = 4, update_every = 1;
  std::int64_t slots = 0;
};

/// The weights of one stage.
struct Part {
  std::size_t first = 0, size = 0;
  std::vector<Block> blocks;  ///< with `first` counted from the stage's own first weight
  OptimizerState state;
  std::vector<double> sum;  ///< of gradients since the last update
  int gradients = 0;
  std::int64_t version = 0, updates = 0;  ///< so far, and of the whole run
  std::deque<std::pair<std::int64_t, std::vector<float>>> history;
};

/// Whole blocks in equal numbers where there are enough of them; otherwise equal numbers of
/// weights, which optimizers of matrices then see as vectors.
std::vector<Part> split(const Objective& f, int stages) {
  std::vector<Part> parts(static_cast<std::size_t>(stages));
  const bool whole = f.blocks.size() >= parts.size();
  const std::size_t units = whole ? f.blocks.size() : f.size();
  for (std::size_t s = 0; s < parts.size(); ++s) {
    Part& part = parts[s];
    const std::size_t from = s * units / parts.size(), to = (s + 1) * units / parts.size();
    part.first = whole ? f.blocks[from].first : from;
    for (std::size_t b = from; whole && b < to; ++b) {
      part.blocks.push_back(f.blocks[b]);
      part.blocks.back().first -= part.first;
      part.size += f.blocks[b].size();
    }
    if (whole) continue;
    part.size = to - from;
    part.blocks = {{"part", 0, static_cast<int>(part.size), 1, Role::Vector}};
  }
  return parts;
}

/// One microbatch between its first forward and its last backward.
struct InFlight {
  std::vector<float> forward, backward, gradient;
  double loss = 0;
};

/// Replays the events on real weights.
class Replayer {
 public:
  Replayer(const PipelineEvents& events, const Objective& f, const Optimizer& optimizer,
           const Training& t)
      : events_(events), f_(f), optimizer_(optimizer), t_(t), weights_(f.start) {
    parts_ = split(f, events.stages);
    applied_.resize(parts_.size());
    std::vector<std::vector<int>> waiting(parts_.size());
    for (const Event& e : events.events) {
      const auto s = static_cast<std::size_t>(e.stage);
      if (e.kind == Event::Kind::Backward) waiting[s].push_back(e.microbatch);
      if (e.kind != Event::Kind::Update) continue;
      for (const int m : waiting[s]) applied_[s][m] = parts_[s].updates;
      waiting[s].clear();
      ++parts_[s].updates;
    }
    for (Part& part : parts_) {
      part.sum.assign(part.size, 0.0);
      part.history.emplace_back(0, slice(part));
    }
  }

  std::int64_t total() const { return parts_.front().updates; }
  const std::vector<float>& weights() const { return weights_; }
  double last_loss() const { return last_loss_; }
  std::int64_t done() const { return parts_.front().version; }

  void play(const Event& e) {
    switch (e.kind) {
      case Event::Kind::Forward:
        return forward(e);
      case Event::Kind::Backward:
        return backward(e);
      case Event::Kind::Update:
        return update(e);
    }
  }

 private:
  std::vector<float> slice(const Part& part) const {
    const auto first = weights_.begin() + static_cast<std::ptrdiff_t>(part.first);
    return {first, first + static_cast<std::ptrdiff_t>(part.size)};
  }

  void forward(const Event& e) {
    InFlight& flight = flights_[e.microbatch];
    flight.forward.resize(f_.size());
    const auto s = static_cast<std::size_t>(e.stage);
    const Part& part = parts_[s];
    const std::vector<float>* read = &part.history.back().second;
    const auto applied = applied_[s].find(e.microbatch);
    if (events_.weights == Weights::Delayed && applied != applied_[s].end()) {
      const std::int64_t version = std::max<std::int64_t>(0, applied->second - 1);
      for (const auto& [number, old] : part.history)
        if (number == version) read = &old;
    }
    std::copy(read->begin(), read->end(),
              flight.forward.begin() + static_cast<std::ptrdiff_t>(part.first));
  }

  void backward(const Event& e) {
    InFlight& flight = flights_.at(e.microbatch);
    Part& part = parts_[static_cast<std::size_t>(e.stage)];
    const bool latest = events_.weights == Weights::Latest;
    if (flight.backward.empty()) flight.backward = flight.forward;
    if (latest)
      std::copy_n(weights_.begin() + static_cast<std::ptrdiff_t>(part.first), part.size,
                  flight.backward.begin() + static_cast<std::ptrdiff_t>(part.first));
    if (flight.gradient.empty() || latest) {
      flight.gradient.resize(f_.size());
      const auto number = static_cast<std::uint64_t>(e.microbatch);
      flight.loss = noisy_gradient(f_, flight.forward, flight.backward,
                                   draw_batch(f_, t_.seed, number, t_.batch), t_.seed, number,
                                   flight.gradient);
      clip_norm(flight.gradient, t_.clip);
    }
    for (std::size_t i = 0; i < part.size; ++i)
      part.sum[i] += static_cast<double>(flight.gradient[part.first + i]);
    ++part.gradients;
    last_loss_ = flight.loss;
    if (e.stage == 0) flights_.erase(e.microbatch);
  }

  void update(const Event& e) {
    Part& part = parts_[static_cast<std::size_t>(e.stage)];
    std::vector<float> mean(part.size);
    for (std::size_t i = 0; i < part.size; ++i)
      mean[i] = static_cast<float>(part.sum[i] / part.gradients);
    std::fill(part.sum.begin(), part.sum.end(), 0.0);
    part.gradients = 0;
    const double rate = rate_at(t_.schedule, t_.rate, part.version, part.updates);
    step(optimizer_, rate, part.blocks, part.state, mean,
         std::span(weights_).subspan(part.first, part.size));
    if (f_.retract) f_.retract(weights_);
    ++part.version;
    part.history.emplace_back(part.version, slice(part));
    const std::size_t kept = events_.weights == Weights::Delayed ? parts_.size() + 3 : 1;
    while (part.history.size() > kept) part.history.pop_front();
  }

  const PipelineEvents& events_;
  const Objective& f_;
  const Optimizer& optimizer_;
  const Training& t_;
  std::vector<float> weights_;
  std::vector<Part> parts_;
  std::vector<std::map<int, std::int64_t>> applied_;  ///< by stage: version a gradient meets
  std::map<int, InFlight> flights_;
  double last_loss_ = 0;
};

Run run_pipeline(const Pipeline& p, const Objective& f, const Optimizer& optimizer,
                 const Training& t, const std::atomic<bool>& stop) {
  const std::int64_t microbatches = p.slots > 0 ? p.slots / 2 + 1 : t.steps * p.update_every;
  const PipelineEvents events = pipeline_events(
      p.schedule, p.stages, static_cast<int>(microbatches), p.update_every, p.slots);
  Replayer replayer(events, f, optimizer, t);
  Watch watch(f, t, std::max<std::int64_t>(1, replayer.total()), stop);
  for (const Event& e : events.events) {
    replayer.play(e);
    if (e.stage != 0 || e.kind != Event::Kind::Update) continue;
    if (!watch.after(replayer.done(), replayer.last_loss(), 0, replayer.weights())) break;
  }
  Run run = watch.finish(replayer.done(), 0, replayer.weights());
  run.extra.emplace_back("max_delay", events.max_delay);
  run.extra.emplace_back("max_mismatch", events.max_mismatch);
  return run;
}

}  // namespace

// Every stage holds a part of the weights; its forwards read the version that the schedule's rule
// says, its updates come when the engine has its backwards. A gradient is that of the weights its
// microbatch read, stage by stage; where nothing is stashed the way back multiplies by what is
// there by then.
Method read_pipeline(base::Fields& fields) {
  Pipeline p;
  p.schedule = fields.text("schedule", p.schedule);
  find_schedule(p.schedule, fields.where("schedule"));
  const models::ScheduleTraits* traits = models::schedule_traits(p.schedule);
  if (traits == nullptr || !traits->asynchronous)
    fields.fail("schedule", "'" + p.schedule + "' flushes: no gradient of it is late",
                "pipedream, pipedream-2bw, paci or rpd-pipedream");
  p.stages = static_cast<int>(fields.integer("stages", 1, 256, p.stages));
  const bool takes = (traits->takes & models::kTakesUpdateEvery) != 0;
  p.update_every =
      static_cast<int>(fields.integer("update_every", 1, 100'000, takes ? p.stages : 1));
  if (!takes && p.update_every != 1)
    fields.fail("update_every", "is no option of '" + p.schedule + "'");
  p.slots = fields.integer("slots", 0, 10'000'000, 0);
  if (p.slots > 0 && p.slots < 2 * std::int64_t{p.stages})
    fields.fail("slots", "ends before the first microbatch", "at least 2 slots per stage");
  pipeline_events(p.schedule, p.stages, 4 * p.stages * p.update_every, p.update_every, 0);
  return [p](const Objective& f, const Optimizer& o, const Training& t,
             const std::atomic<bool>& stop) {
    if (static_cast<std::size_t>(p.stages) > f.size())
      throw base::Error("method pipeline", "more stages than weights");
    return run_pipeline(p, f, o, t, stop);
  };
}

}  // namespace paceline::sim::convergence
