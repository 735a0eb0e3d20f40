// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/run_study.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/message.hpp"

namespace paceline::sim::convergence {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One run: a cell, one of its rates and a seed.
struct Job {
  std::size_t cell, rate, seed;
};

/// Objectives of all seeds, made once and read by many.
using ObjectiveTable = std::vector<std::vector<Objective>>;

class Runner {
 public:
  Runner(const Study& study, const RunOptions& options, const std::atomic<bool>& stop)
      : study_(study), options_(options), stop_(stop) {
    for (const Cell& cell : study.cells)
      total_ += (cell.rate_of ? 1 : cell.rates.size()) * study.seeds.size();
    total_ += study.experiments.size() * study.seeds.size();
  }

  StudyResult run() {
    result_.cells.resize(study_.cells.size());
    make_objectives();
    train([](const Cell& cell) { return !cell.rate_of.has_value(); });
    choose_rates();
    train([](const Cell& cell) { return cell.rate_of.has_value(); });
    collect();
    run_experiments();
    result_.interrupted = stop_.load();
    return std::move(result_);
  }

 private:
  void make_objectives() {
    const std::size_t seeds = study_.seeds.size();
    objectives_.assign(study_.objectives.size(), std::vector<Objective>(seeds));
    run_parallel(objectives_.size() * seeds, options_.jobs, [&](std::size_t i) {
      if (stop_.load()) return;
      objectives_[i / seeds][i % seeds] =
          study_.objectives[i / seeds].value(study_.seeds[i % seeds]);
    });
    runs_.resize(study_.cells.size());
  }

  template <class Which>
  void train(const Which& which) {
    std::vector<Job> jobs;
    for (std::size_t c = 0; c < study_.cells.size(); ++c) {
      const Cell& cell = study_.cells[c];
      if (!which(cell)) continue;
      const std::size_t rates = cell.rate_of ? 1 : cell.rates.size();
      runs_[c].assign(rates, std::vector<std::optional<Run>>(study_.seeds.size()));
      // Seeds outermost, so that what is done when somebody stops it is whole for some seeds.
      for (std::size_t r = 0; r < rates; ++r)
        for (std::size_t s = 0; s < study_.seeds.size(); ++s) jobs.push_back({c, r, s});
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const Job& a, const Job& b) { return a.seed < b.seed; });
    run_parallel(jobs.size(), options_.jobs, [&](std::size_t i) { train_one(jobs[i]); });
  }

  void train_one(const Job& job) {
    if (stop_.load()) return;
    const Cell& cell = study_.cells[job.cell];
    Training training = cell.training;
    training.seed = study_.seeds[job.seed];
    training.rate = cell.rate_of ? result_.cells[*cell.rate_of].rate : cell.rates[job.rate];
    Run run =
        study_.methods[cell.method].value(objectives_[cell.objective][job.seed],
                                          study_.optimizers[cell.optimizer].value, training, stop_);
    if (!run.interrupted) runs_[job.cell][job.rate][job.seed] = std::move(run);
    count_one();
  }

  void count_one() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    if (options_.progress) options_.progress(done_, total_);
  }

  /// The rate with the smallest median; of equal ones the smallest rate.
  void choose_rates() {
    for (std::size_t c = 0; c < study_.cells.size(); ++c) {
      const Cell& cell = study_.cells[c];
      if (cell.rate_of) continue;
      CellResult& result = result_.cells[c];
      std::size_t best = 0;
      for (std::size_t r = 0; r < cell.rates.size(); ++r) {
        std::vector<double> losses;
        for (const auto& run : runs_[c][r])
          if (run) losses.push_back(final_loss(*run));
        result.tried.push_back(losses.empty() ? kInfinity : spread_of(losses).median);
        if (result.tried[r] < result.tried[best]) best = r;
      }
      result.rate = cell.rates[best];
      result.at_edge = cell.rates.size() > 1 && (best == 0 || best + 1 == cell.rates.size());
      chosen_[c] = best;
    }
  }

  void collect() {
    for (std::size_t c = 0; c < study_.cells.size(); ++c) {
      CellResult& result = result_.cells[c];
      const Cell& cell = study_.cells[c];
      if (cell.rate_of) result.rate = result_.cells[*cell.rate_of].rate;
      if (runs_[c].empty()) continue;
      auto& runs = runs_[c][cell.rate_of ? 0 : chosen_[c]];
      for (std::size_t s = 0; s < runs.size(); ++s) {
        if (!runs[s]) continue;
        result.runs.push_back(std::move(*runs[s]));
        result.seeds.push_back(s);
      }
    }
  }

  void run_experiments() {
    const std::size_t seeds = study_.seeds.size();
    std::vector<std::vector<Figures>> figures(study_.experiments.size(),
                                              std::vector<Figures>(seeds));
    run_parallel(figures.size() * seeds, options_.jobs, [&](std::size_t i) {
      if (stop_.load()) return;
      Figures got = study_.experiments[i / seeds].value(study_.seeds[i % seeds], stop_);
      if (!stop_.load()) figures[i / seeds][i % seeds] = std::move(got);
      count_one();
    });
    result_.experiments = std::move(figures);
  }

  const Study& study_;
  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  ObjectiveTable objectives_;
  std::vector<std::vector<std::vector<std::optional<Run>>>> runs_;  ///< by cell, rate, seed
  std::vector<std::size_t> chosen_ = std::vector<std::size_t>(study_.cells.size(), 0);
  StudyResult result_;
  std::mutex mutex_;
  std::size_t done_ = 0, total_ = 0;
};

/// What a name of an expectation means for one seed; nothing: it did not run.
std::optional<double> value_of(const Study& study, const StudyResult& result,
                               const std::string& word, std::size_t seed) {
  const std::string name = word.substr(0, word.find(':'));
  const std::string figure = word.size() > name.size() ? word.substr(name.size() + 1) : "";
  const auto pick = [&](const Figures& figures) -> std::optional<double> {
    for (const auto& [key, number] : figures)
      if (key == figure) return number;
    std::vector<std::string> names;
    for (const auto& [key, number] : figures) names.push_back(key);
    throw base::Error("expect: '" + name + "'", "has no figure " + base::quote(figure),
                      base::suggest(figure, names, "one of"));
  };
  for (std::size_t c = 0; c < study.cells.size(); ++c) {
    if (study.cells[c].name != name) continue;
    const CellResult& cell = result.cells[c];
    const auto at = std::find(cell.seeds.begin(), cell.seeds.end(), seed);
    if (at == cell.seeds.end()) return std::nullopt;
    const Run& run = cell.runs[static_cast<std::size_t>(at - cell.seeds.begin())];
    if (figure.empty()) return final_loss(run);
    return run.diverged ? std::optional<double>() : pick(run.extra);
  }
  for (std::size_t e = 0; e < study.experiments.size(); ++e) {
    if (study.experiments[e].name != name) continue;
    const Figures& figures = result.experiments[e][seed];
    return figures.empty() ? std::nullopt : pick(figures);
  }
  return std::nullopt;
}

ExpectationResult judge(const Study& study, const StudyResult& result, const Expectation& e) {
  ExpectationResult r;
  const auto within = [&](double x) {
    return (!e.least || x >= *e.least) && (!e.most || x <= *e.most);
  };
  for (std::size_t s = 0; s < study.seeds.size(); ++s) {
    bool there = true;
    const double value = evaluate(e.that, [&](const std::string& word) {
      const std::optional<double> v = value_of(study, result, word, s);
      there = there && v.has_value();
      return v.value_or(0);
    });
    if (!there) continue;
    r.values.push_back(value);
    r.held += within(value) ? 1 : 0;
  }
  r.evaluated = !r.values.empty();
  if (!r.evaluated) return r;
  r.spread = spread_of(r.values);
  r.holds = within(r.spread.median) && r.held >= e.seeds;
  return r;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  PACELINE_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

double final_loss(const Run& run) { return run.diverged ? kInfinity : run.curve.back().loss; }

double seconds_at(const Clock& clock, const Run& run, const CurvePoint& point) {
  const double end = run.curve.back().step;
  const double share = end > 0 ? point.step / end : 0;
  return clock.step_seconds * point.step + clock.exchange_seconds * run.exchanges * share;
}

void run_parallel(std::size_t count, int jobs, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> threads;
  const auto wanted = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
  for (std::size_t t = 1; t < wanted; ++t) threads.emplace_back(loop);
  loop();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

StudyResult run_study(const Study& study, const RunOptions& options,
                      const std::atomic<bool>& stop) {
  StudyResult result = Runner(study, options, stop).run();
  for (const Expectation& e : study.expectations)
    result.expectations.push_back(judge(study, result, e));
  return result;
}

}  // namespace paceline::sim::convergence
