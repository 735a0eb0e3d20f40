// SPDX-License-Identifier: Apache-2.0
#include "models/jobs/drawn.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/distributions.hpp"
#include "base/rng.hpp"

namespace paceline::models {
namespace {

/// What is drawn has a generator of its own each.
enum class Drawn : std::uint64_t { Devices = 1, Uplinks, Prices, Kinds, Tokens, Gaps };

base::Rng generator(const JobsFile& file, int index, Drawn drawn) {
  base::Rng seeds(file.random.seed);
  const std::uint64_t first = seeds.next();
  base::Rng mixed(first + static_cast<std::uint64_t>(index) * 64 +
                  static_cast<std::uint64_t>(drawn));
  return base::Rng(mixed.next());
}

template <class T>
void shuffle(std::vector<T>& items, base::Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

void draw_devices(const JobsFile& file, int index, std::vector<JobRegion>& regions) {
  const std::vector<int>& choices = file.random.devices;
  if (choices.empty()) return;
  base::Rng rng = generator(file, index, Drawn::Devices);
  int all = 0;
  do {  // the reader has made sure that enough can be drawn
    all = 0;
    for (JobRegion& region : regions) {
      region.devices = choices[rng.below(choices.size())];
      all += region.devices;
    }
  } while (all < file.random.least_devices);
}

void draw_regions(const JobsFile& file, int index, std::vector<JobRegion>& regions) {
  draw_devices(file, index, regions);
  if (file.random.uplink_high > 0) {
    base::Rng rng = generator(file, index, Drawn::Uplinks);
    for (JobRegion& region : regions)
      region.uplink =
          base::BytesPerSecond(rng.uniform(file.random.uplink_low, file.random.uplink_high));
  }
  if (file.random.shuffle_prices) {
    base::Rng rng = generator(file, index, Drawn::Prices);
    std::vector<std::pair<double, double>> prices;  // electricity and rent go together
    prices.reserve(regions.size());
    for (const JobRegion& region : regions)
      prices.emplace_back(region.electricity, region.device_hour);
    shuffle(prices, rng);
    for (std::size_t r = 0; r < regions.size(); ++r)
      std::tie(regions[r].electricity, regions[r].device_hour) = prices[r];
  }
}

std::vector<std::vector<JobLink>> links_of(const JobsFile& file,
                                           const std::vector<JobRegion>& regions) {
  std::vector<std::vector<JobLink>> links = file.links;
  for (std::size_t a = 0; a < regions.size(); ++a) {
    for (std::size_t b = 0; b < regions.size(); ++b) {
      if (a == b || links[a][b].rate.value > 0) continue;
      const double one = regions[a].uplink.value, other = regions[b].uplink.value;
      links[a][b].rate =
          base::BytesPerSecond(file.link_is_minimum ? std::min(one, other) : (one + other) / 2);
    }
  }
  return links;
}

std::vector<Job> draw_jobs(const JobsFile& file, int index) {
  const RandomJobs& random = file.random;
  base::Rng kinds = generator(file, index, Drawn::Kinds);
  base::Rng tokens = generator(file, index, Drawn::Tokens);
  base::Rng gaps = generator(file, index, Drawn::Gaps);
  std::vector<std::size_t> order(file.kinds.size());
  std::vector<Job> jobs;
  double clock = 0;
  for (int j = 0; j < random.jobs; ++j) {
    const auto turn = static_cast<std::size_t>(j) % order.size();
    if (turn == 0) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      shuffle(order, kinds);
    }
    Job job;
    job.kind = order[turn];
    job.name = std::to_string(j + 1) + " " + file.kinds[job.kind].name;
    job.arrives = clock;
    job.steps =
        random.tokens[tokens.below(random.tokens.size())] / file.kinds[job.kind].step_tokens;
    jobs.push_back(std::move(job));
    clock += -random.gap * base::same_log(1 - gaps.uniform());
  }
  return jobs;
}

}  // namespace

JobsInstance draw(const JobsFile& file, int index) {
  JobsInstance instance;
  instance.regions = file.regions;
  draw_regions(file, index, instance.regions);
  instance.links = links_of(file, instance.regions);
  instance.jobs = file.random.jobs > 0 ? draw_jobs(file, index) : file.jobs;
  return instance;
}

}  // namespace paceline::models
