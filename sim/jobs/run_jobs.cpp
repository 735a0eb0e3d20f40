// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/run_jobs.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/json.hpp"

namespace paceline::sim::jobs {
namespace {

using models::JobsFile;
using models::JobsStudy;

/// Devices of all regions together, at most.
int most_devices(const JobsFile& file) {
  if (!file.random.devices.empty())
    return static_cast<int>(file.regions.size()) *
           *std::max_element(file.random.devices.begin(), file.random.devices.end());
  int all = 0;
  for (const models::JobRegion& region : file.regions) all += region.devices;
  return all;
}

/// Calls work(0) ... work(count - 1) on some threads. The first exception by number comes out.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(count);
  const auto worker = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  for (int t = 1; t < threads && static_cast<std::size_t>(t) < count; ++t)
    pool.emplace_back(worker);
  worker();
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

void run_instance(const JobsFile& file, int index, JobSteps& steps, VariantResult& variant,
                  JobsResult* first) {
  const models::JobsInstance instance = models::draw(file, index);
  auto& row = variant.figures[static_cast<std::size_t>(index)];
  for (const std::string& policy : file.policies) {
    JobsOutcome outcome = simulate_jobs(file, instance, steps, job_policy(policy));
    row.push_back(figures_of(instance, outcome));
    if (first != nullptr) first->outcomes.push_back(std::move(outcome));
  }
  if (first != nullptr) first->instance = instance;
}

/// Values of an expression over the instances in which all its policies have figures.
std::vector<double> values_of(const models::Expression& that, const models::Table& columns,
                              const VariantResult& variant) {
  std::vector<double> values;
  for (const auto& row : variant.figures) {
    std::vector<models::Cell> cells;
    for (const auto& figures : row)
      for (std::size_t f = 0; f < models::kJobFigures.size(); ++f)
        cells.push_back({figures ? base::shortest((*figures)[f]) : "", 1, 1});
    if (const auto value = evaluate(that, columns, cells)) values.push_back(*value);
  }
  return values;
}

JobsVerdict verdict(std::vector<double> values, const std::optional<double>& low,
                    const std::optional<double>& high) {
  JobsVerdict v;
  v.values = std::move(values);
  if (v.values.empty()) return v;
  v.spread = jobs_spread(v.values);
  const auto within = [&](double x) { return (!low || x >= *low) && (!high || x <= *high); };
  v.inside = static_cast<double>(std::count_if(v.values.begin(), v.values.end(), within)) /
             static_cast<double>(v.values.size());
  v.holds = within(v.spread.median);
  return v;
}

void judge_study(const JobsStudy& study, JobsResult& result) {
  for (const VariantResult& variant : result.variants) {
    std::vector<JobsVerdict> row;
    for (const models::JobsComparison& one : study.compare)
      row.push_back(verdict(values_of(one.that, study.columns, variant), one.low, one.high));
    result.compared.push_back(std::move(row));
  }
  for (const models::JobsExpectation& one : study.expect) {
    std::size_t v = 0;
    while (study.variants[v].name != one.variant) ++v;
    result.expected.push_back(
        verdict(values_of(one.that, study.columns, result.variants[v]), one.least, one.most));
  }
}

}  // namespace

JobsSpread jobs_spread(std::vector<double> values) {
  PACELINE_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {  // between neighbours
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.5), at(0.1), at(0.9)};
}

bool JobsResult::all_hold() const {
  return std::all_of(expected.begin(), expected.end(), [](const auto& v) { return v.holds; });
}

JobsResult run_jobs(const JobsStudy& study, const RunJobsOptions& options) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int threads = std::max(options.threads > 0 ? options.threads : cores, 1);
  JobsResult result;
  result.variants.resize(study.variants.size());
  std::size_t total = 0, done = 0;
  for (const models::JobsVariant& variant : study.variants)
    total += static_cast<std::size_t>(variant.file.random.instances);
  std::mutex lock;
  for (std::size_t v = 0; v < study.variants.size(); ++v) {
    const JobsFile& file = study.variants[v].file;
    VariantResult& variant = result.variants[v];
    const auto instances = static_cast<std::size_t>(file.random.instances);
    variant.figures.resize(instances);
    JobSteps steps(file, most_devices(file));
    for_each_index(instances, threads, [&](std::size_t i) {
      run_instance(file, static_cast<int>(i), steps, variant, v + i == 0 ? &result : nullptr);
      const std::lock_guard guard(lock);
      if (options.progress) options.progress(++done, total);
    });
    variant.simulated_steps = steps.simulated();
    variant.asked_steps = steps.asked();
  }
  judge_study(study, result);
  return result;
}

}  // namespace paceline::sim::jobs
