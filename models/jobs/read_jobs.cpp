// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/message.hpp"
#include "base/text.hpp"
#include "models/energy/power.hpp"
#include "models/jobs/jobs_file.hpp"
#include "models/jobs/read_parts.hpp"
#include "models/money/provider.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {
namespace {

using base::Fields;
using base::Value;

constexpr double kMostSeconds = 1e10, kMostTokens = 1e18;

std::vector<std::string> region_names(const JobsFile& file) {
  std::vector<std::string> names;
  for (const JobRegion& region : file.regions) names.push_back(region.name);
  return names;
}

/// A region by name; base::Error with the nearest one at `where`.
std::size_t region_at(const JobsFile& file, const std::string& name, const std::string& where) {
  const std::vector<std::string> names = region_names(file);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw base::Error(where, "unknown region " + base::quote(name),
                      base::suggest(name, names, "one of"));
  return static_cast<std::size_t>(found - names.begin());
}

/// What a provider's region pays, `at` or of the same name.
double provider_electricity(Fields& own, const std::string& name) {
  const Provider provider = read_provider(own.text("provider"), own.where("provider"));
  const std::string key = own.has("at") ? "at" : "name";
  const Region& region = find_region(provider, own.text("at", name), own.where(key));
  if (!region.electricity) own.fail(key, "has no known price of electricity", "state electricity");
  return *region.electricity;
}

void read_regions(Fields& fields, JobsFile& file) {
  std::set<std::string> names;
  for (const Value& item : fields.list("regions")) {
    Fields own = fields.view(item, "regions");
    JobRegion region;
    region.name = job_name(own, "name");
    if (!names.insert(region.name).second)
      own.fail("name", base::quote(region.name) + " stands twice", "give each region its own name");
    region.devices = static_cast<int>(own.integer("devices", 1, kMaxRegionDevices));
    if (own.has("provider") && own.has("electricity"))
      own.fail("provider", "stands beside electricity", "leave out one of the two");
    if (own.has("device_hour")) region.device_hour = price(own, "device_hour", "USD/h");
    if (own.has("provider"))
      region.electricity = provider_electricity(own, region.name);
    else if (own.has("electricity") || !(region.device_hour > 0))
      region.electricity = price(own, "electricity", "USD/kWh");
    region.uplink = own.rate("uplink", base::BytesPerSecond(0));
    own.done();
    file.regions.push_back(std::move(region));
  }
  if (file.regions.empty() || file.regions.size() > kMaxRegions)
    fields.fail("regions", "has " + std::to_string(file.regions.size()) + " entries",
                "1 to " + std::to_string(kMaxRegions));
}

void read_pair(Fields own, JobsFile& file, std::set<std::pair<std::size_t, std::size_t>>& known) {
  const std::vector<Value>& ends = own.list("between");
  if (ends.size() != 2) own.fail("between", "names no two regions", "for example [ireland, tokyo]");
  const std::size_t a = region_at(file, ends[0].text, own.where(ends[0], "between"));
  const std::size_t b = region_at(file, ends[1].text, own.where(ends[1], "between"));
  if (a == b) own.fail("between", "names one region twice");
  if (!known.insert(std::minmax({a, b})).second)
    own.fail("between",
             "names " + base::quote(file.regions[a].name) + " and " +
                 base::quote(file.regions[b].name) + " again",
             "a pair stands once, for both directions");
  JobLink& link = file.links[a][b];
  if (own.has("bandwidth")) link.rate = own.rate("bandwidth");
  link.latency = own.seconds("latency", link.latency);
  file.links[b][a] = link;
  own.done();
}

void read_links(Fields& fields, JobsFile& file) {
  constexpr std::array<base::Named<bool>, 2> kMeans{{{"mean", false}, {"minimum", true}}};
  const std::size_t count = file.regions.size();
  JobLink usual;
  file.links.assign(count, std::vector<JobLink>(count));
  if (fields.has("links")) {
    Fields own = fields.map("links");
    file.link_is_minimum = own.choice<bool>("rate", kMeans, false);
    usual.latency = own.seconds("latency", base::Seconds(0));
    for (auto& row : file.links) std::fill(row.begin(), row.end(), usual);
    std::set<std::pair<std::size_t, std::size_t>> known;
    if (own.has("pairs"))
      for (const Value& item : own.list("pairs")) read_pair(own.view(item, "pairs"), file, known);
    own.done();
  }
  for (std::size_t a = 0; a < count && !(file.random.uplink_high > 0); ++a)
    for (std::size_t b = 0; b < count; ++b)
      if (a != b && !(file.links[a][b].rate.value > 0) &&
          !(file.regions[a].uplink.value > 0 && file.regions[b].uplink.value > 0))
        fields.fail("links",
                    "says nothing of " + base::quote(file.regions[a].name) + " and " +
                        base::quote(file.regions[b].name),
                    "give both an uplink, or the pair a bandwidth");
}

void read_power(Fields& fields, JobsFile& file) {
  Fields own = fields.map("power");
  if (own.has("device")) {
    const Device device = read_device_at(own, "device");
    if (!device.tdp) own.fail("device", "has no known power", "state active and idle");
    file.power.active = device_power(device, PowerClass::Matrix).middle;
    file.power.idle = device_power(device, PowerClass::Idle).middle;
    file.assumptions.push_back(device.name + " draws " + base::format_fixed(file.power.active, 0) +
                               " W at work and " + base::format_fixed(file.power.idle, 0) +
                               " W in a job that waits, unless the file says so");
  }
  const bool known = file.power.active > 0;
  file.power.active =
      known ? own.watts("active", base::Watts(file.power.active)).value : own.watts("active").value;
  file.power.idle =
      known ? own.watts("idle", base::Watts(file.power.idle)).value : own.watts("idle").value;
  if (file.power.idle > file.power.active)
    own.fail("idle", "is more than active", "a device that waits draws less");
  file.power.pue = own.number("pue", 1, 10, 1);
  own.done();
}

void read_reserved(Fields& fields, JobsFile& file) {
  if (!fields.has("reserved")) return;
  for (const Value& item : fields.list("reserved")) {
    Fields own = fields.view(item, "reserved");
    Reservation one;
    one.region = region_at(file, own.text("region"), own.where("region"));
    const JobRegion& region = file.regions[one.region];
    one.devices = static_cast<int>(own.integer("devices", 1, region.devices));
    one.from = own.seconds("from").value;
    one.until = own.seconds("until").value;
    if (!(one.until > one.from))
      own.fail("until", "is not after from", "a reservation ends after it begins");
    int held = one.devices;  // at its beginning, and where others begin inside it
    for (const Reservation& other : file.reserved)
      if (other.region == one.region && other.from < one.until && one.from < other.until)
        held += other.devices;
    if (held > region.devices)
      throw base::Error(own.where(item, ""), "overlapping reservations take " +
                                                 std::to_string(held) + " of " +
                                                 std::to_string(region.devices) + " devices of " +
                                                 base::quote(region.name));
    own.done();
    file.reserved.push_back(one);
  }
}

double steps_of(Fields& own, const JobKind& kind) {
  const bool steps = own.has("steps"), tokens = own.has("tokens");
  if (steps == tokens)
    own.fail("steps", steps ? "stands beside tokens" : "is missing", "write steps or tokens");
  if (steps) return own.number("steps", 1, kMostTokens);
  if (!(kind.step_tokens > 0))
    own.fail("tokens", "cannot be turned into steps", "state work.sequence, or write steps");
  return own.number("tokens", 1, kMostTokens) / kind.step_tokens;
}

std::size_t kind_at(const JobsFile& file, Fields& own) {
  std::vector<std::string> names;
  for (const JobKind& kind : file.kinds) names.push_back(kind.name);
  const std::string name = own.text("kind");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    own.fail("kind", "unknown kind " + base::quote(name), base::suggest(name, names, "one of"));
  return static_cast<std::size_t>(found - names.begin());
}

void read_list(Fields& fields, JobsFile& file) {
  std::set<std::string> names;
  for (const Value& item : fields.list("jobs")) {
    Fields own = fields.view(item, "jobs");
    Job job;
    job.kind = kind_at(file, own);
    job.name = own.has("name") ? job_name(own, "name") : std::to_string(file.jobs.size() + 1);
    if (!names.insert(job.name).second)
      own.fail("name", base::quote(job.name) + " stands twice", "give each job its own name");
    job.arrives = own.seconds("arrives", base::Seconds(0)).value;
    if (!file.jobs.empty() && job.arrives < file.jobs.back().arrives)
      own.fail("arrives", "is before the job above arrives: the clock goes backwards",
               "list jobs by arrival");
    job.steps = steps_of(own, file.kinds[job.kind]);
    job.tier = static_cast<int>(own.integer("tier", 0, 9, 0));
    own.done();
    file.jobs.push_back(std::move(job));
  }
  if (file.jobs.empty() || file.jobs.size() > kMaxJobs)
    fields.fail("jobs", "has " + std::to_string(file.jobs.size()) + " entries",
                "1 to " + std::to_string(kMaxJobs));
}

void read_random_regions(Fields& own, JobsFile& file) {
  RandomJobs& random = file.random;
  if (own.has("devices")) {
    for (const Value& item : own.list("devices"))
      random.devices.push_back(static_cast<int>(
          base::parse_integer(item.text, own.where(item, "devices"), 1, kMaxRegionDevices)));
    if (random.devices.empty()) own.fail("devices", "is empty", "numbers to draw from");
    const double mean = std::accumulate(random.devices.begin(), random.devices.end(), 0.0) *
                        static_cast<double>(file.regions.size()) /
                        static_cast<double>(random.devices.size());
    random.least_devices = static_cast<int>(own.integer("least_devices", 0, 1'000'000'000, 0));
    if (random.least_devices > mean)
      own.fail("least_devices", "is more than the regions have on average",
               std::to_string(static_cast<int>(mean)) + " at most");
  }
  if (own.has("uplink")) {
    const std::vector<Value>& ends = own.list("uplink");
    if (ends.size() != 2) own.fail("uplink", "is no range", "for example [25 Gb/s, 100 Gb/s]");
    random.uplink_low = base::parse_rate(ends[0].text, own.where(ends[0], "uplink")).value;
    random.uplink_high = base::parse_rate(ends[1].text, own.where(ends[1], "uplink")).value;
    if (!(random.uplink_low > 0 && random.uplink_low <= random.uplink_high))
      own.fail("uplink", "is no range", "a rate above zero, then one that is not less");
  }
  random.shuffle_prices = own.flag("shuffle_prices", false);
}

/// The part about regions, which links need; jobs follow when kinds are known.
void read_random(Fields& fields, JobsFile& file) {
  if (!fields.has("random")) return;
  RandomJobs& random = file.random;
  Fields own = fields.map("random");
  random.instances = static_cast<int>(own.integer("instances", 1, 10'000, 1));
  random.seed = static_cast<std::uint64_t>(own.integer("seed", 0, 1'000'000'000, 1));
  read_random_regions(own, file);
  random.jobs = static_cast<int>(own.integer("jobs", 1, kMaxJobs, 0));
  if (random.jobs > 0) {
    random.gap = own.seconds("gap", base::Seconds(0)).value;
    for (const Value& item : own.list("tokens"))
      random.tokens.push_back(
          base::parse_number(item.text, own.where(item, "tokens"), 1, kMostTokens));
    if (random.tokens.empty()) own.fail("tokens", "is empty", "numbers to draw from");
  }
  own.done();
}

void read_queue(Fields& fields, JobsFile& file) {
  const auto known = job_policy_names();
  if (fields.has("queue")) {
    Fields own = fields.map("queue");
    file.queue.where = fields.where("queue");
    file.queue.backfill = own.flag("backfill", false);
    file.queue.wait_for_full = own.flag("wait_for_full", false);
    file.queue.preempt = own.flag("preempt", false);
    file.queue.resize = own.flag("resize", false);
    if (file.queue.preempt || file.queue.resize) {
      file.queue.storage = own.rate("storage");
      if (!(file.queue.storage.value > 0))
        own.fail("storage", "saves nothing", "for example 10 GB/s");
      for (const JobKind& kind : file.kinds)
        if (!(kind.state.value > 0))
          throw base::Error(kind.where,
                            "says nothing of its state, which jobs that move take along",
                            "state its bytes, for example state: 1 TB");
    } else if (own.has("storage")) {
      own.fail("storage", "means nothing without preempt or resize", "leave it out");
    }
    own.done();
  }
  std::set<std::string> names;
  if (fields.has("policies")) {
    for (const Value& item : fields.list("policies")) {
      const std::string where = fields.where(item, "policies");
      if (std::find(known.begin(), known.end(), item.text) == known.end())
        throw base::Error(where, "unknown policy " + base::quote(item.text),
                          base::suggest(item.text, known, "one of"));
      if (!names.insert(item.text).second)
        throw base::Error(where, base::quote(item.text) + " stands twice");
      file.policies.push_back(item.text);
    }
    if (file.policies.empty()) fields.fail("policies", "is empty");
  } else {
    file.policies = known;
  }
}

/// All but what compares variants.
JobsFile read_one(const base::Document& document) {
  Fields fields(document, document.root);
  JobsFile file;
  file.file = document.file;
  file.name = fields.text("name");
  file.note = fields.text("note", "");
  file.hash = base::hash_text(base::canonical_text(document.root));
  read_regions(fields, file);
  read_random(fields, file);
  read_links(fields, file);
  read_power(fields, file);
  if (fields.has("egress")) file.egress = price(fields, "egress", "USD/GB");
  read_job_kinds(document, fields, file);
  if (file.random.jobs > 0) {
    if (fields.has("jobs"))
      fields.fail("jobs", "stands beside random.jobs", "leave out one of the two");
    for (const JobKind& kind : file.kinds)
      if (!(kind.step_tokens > 0))
        throw base::Error(kind.where, "says nothing of tokens, which random jobs have",
                          "state work.sequence");
  } else {
    read_list(fields, file);
  }
  read_reserved(fields, file);
  if (!file.reserved.empty() && !file.random.devices.empty())
    fields.fail("reserved", "stands beside random.devices", "reserve of regions that are known");
  read_queue(fields, file);
  for (const std::string& line : fields.text_list("assumptions")) file.assumptions.push_back(line);
  for (const char* later : {"vary", "compare", "expect"}) fields.find(later);
  fields.done();
  return file;
}

}  // namespace

std::string job_name(Fields& fields, std::string_view key) {
  std::string name = fields.text(key);
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  if (name.empty() || name.size() > 60 || std::any_of(name.begin(), name.end(), control))
    fields.fail(key, base::quote(name) + " is no name", "1 to 60 characters on one line");
  return name;
}

JobsFile read_jobs_variant(const base::Document& document) { return read_one(document); }

std::vector<std::string> job_policy_names() {
  return {
#define PACELINE_JOB_POLICY(function, name, summary) name,
#include "models/jobs/policies.def"
#undef PACELINE_JOB_POLICY
  };
}

}  // namespace paceline::models
