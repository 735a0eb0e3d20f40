// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>

#include "base/message.hpp"
#include "models/energy/power.hpp"
#include "models/jobs/read_parts.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {
namespace {

using base::Fields;
using base::Value;

constexpr double kMostMicrobatches = 65'536;

/// Weights in bf16, fp32 copies and two fp32 moments (ZeRO, arXiv 1910.02054, section 3.1).
constexpr double kStateBytes = 14;

/// What kinds have in common unless they say otherwise.
struct Work {
  int microbatches = 0;
  std::int64_t micro = 1, sequence = 0;
  base::FlopsPerSecond rate;
  base::Seconds overhead;
  bool whole_layers = true;
  std::string schedule = "1f1b";
};

Work read_work(Fields own, Work work) {
  constexpr std::array<base::Named<bool>, 2> kSplits{{{"layers", true}, {"any", false}}};
  const auto most = static_cast<std::int64_t>(kMostMicrobatches);
  work.microbatches = static_cast<int>(own.integer("microbatches", 1, most, work.microbatches));
  work.micro = own.integer("micro", 1, 1'000'000, work.micro);
  work.sequence = own.integer("sequence", 1, 1'000'000'000, work.sequence);
  work.rate = own.flops_rate("rate", work.rate);
  work.overhead = own.seconds("overhead", work.overhead);
  work.whole_layers = own.choice<bool>("split", kSplits, work.whole_layers);
  work.schedule = own.text("schedule", work.schedule);
  own.done();
  return work;
}

/// 2 operations per parameter and token forward, 4 backward (Kaplan et al., arXiv 2001.08361,
/// section 2.1), attention left out; a bf16 activation of the hidden size per token.
void take_size(Fields& own, const Work& work, JobKind& kind) {
  const double parameters = own.number("parameters", 1, 1e15);
  const auto hidden = static_cast<double>(own.integer("hidden", 1, 10'000'000));
  if (work.sequence == 0)
    own.fail("parameters", "needs the tokens of a microbatch", "state work.sequence");
  if (!(work.rate.value > 0))
    own.fail("parameters", "needs what a device computes",
             "state work.rate, for example 60 TFLOP/s");
  const auto tokens = static_cast<double>(work.micro * work.sequence);
  kind.forward = base::Flops(2 * parameters * tokens) / work.rate;
  kind.backward = kind.forward * 2;
  kind.activation = base::Bytes(2 * hidden * tokens);
  kind.state = base::Bytes(kStateBytes * parameters);
}

/// What a step alone does not show: base::Error where the scenario says it.
void refuse_unused(const base::Document& document, const std::string& where) {
  for (const char* key : {"failures", "outer", "jitter", "power.slack"}) {
    const Value* found = base::find_path(document.root, key);
    if (found == nullptr || (std::string_view(key) == "power.slack" && found->text != "true"))
      continue;
    throw base::Error(document.file.empty() ? where : base::place_text(document, found->place),
                      std::string(key) + " changes nothing in a kind of jobs",
                      "leave it out: jobs take the step alone");
  }
}

/// Devices that are held below their highest clock draw less.
void take_power(const Scenario& scenario, JobKind& kind) {
  if (!scenario.power) return;
  if (scenario.power->cap) kind.cap = scenario.power->cap->value;
  Device device = scenario.cluster.groups.front().device;
  const double now = device_power(device, PowerClass::Matrix).middle;
  device.clock = 1;
  const double full = device_power(device, PowerClass::Matrix).middle;
  if (full > 0) kind.power_share = now / full;
}

void take_scenario(const base::Document& document, Fields& own, JobKind& kind) {
  for (const char* key : {"forward", "backward", "activation", "parameters", "hidden", "layers"})
    if (own.has(key)) own.fail(key, "stands beside a scenario", "the scenario says it");
  const std::string path = path_beside(document.file, own.text("scenario"));
  kind.scenario = base::read_document(path);
  refuse_unused(*kind.scenario, own.where("scenario"));
  const Scenario scenario = read_scenario(*kind.scenario);
  take_power(scenario, kind);
  if (scenario.parallel.dp != 1 || !scenario.modules.empty() || scenario.cluster.groups.size() != 1)
    own.fail("scenario", "is no single pipeline of one model on devices of one kind",
             "parallel.dp 1, no modules, one node group");
  kind.unit = scenario.parallel.tp * scenario.parallel.cp;
  kind.layers = static_cast<int>(scenario.model.layers.size());
  kind.microbatches = static_cast<int>(scenario.batch.global / scenario.batch.micro);
  kind.step_tokens = static_cast<double>(scenario.batch.global * scenario.batch.sequence);
  kind.schedule = scenario.schedule.name;
  kind.state = base::Bytes(kStateBytes * static_cast<double>(total_parameters(scenario.model)));
  const double tokens = static_cast<double>(scenario.batch.micro * scenario.batch.sequence);
  kind.activation = base::Bytes(2 * tokens * static_cast<double>(scenario.model.hidden));
}

void take_costs(Fields& own, const Work& work, JobKind& kind) {
  kind.microbatches = static_cast<int>(own.integer(
      "microbatches", 1, static_cast<std::int64_t>(kMostMicrobatches), work.microbatches));
  if (kind.microbatches == 0) own.fail("microbatches", "is missing", "here or in work");
  kind.schedule = own.text("schedule", work.schedule);
  kind.overhead = own.seconds("overhead", work.overhead);
  const auto layers = static_cast<int>(own.integer("layers", 1, kMaxStages, 0));
  if (work.whole_layers && layers == 0)
    own.fail("layers", "is missing", "a number, or work.split: any");
  kind.layers = work.whole_layers ? layers : 0;
  if (own.has("parameters")) {
    take_size(own, work, kind);
  } else {
    kind.forward = own.seconds("forward");
    kind.backward = own.seconds("backward", kind.forward * 2);
    kind.activation = own.bytes("activation", base::Bytes(0));
  }
  if (!(kind.forward.value > 0)) own.fail("forward", "takes no time");
  kind.step_tokens =
      static_cast<double>(kind.microbatches) * static_cast<double>(work.micro * work.sequence);
}

}  // namespace

void read_job_kinds(const base::Document& document, Fields& fields, JobsFile& file) {
  const Work work = fields.has("work") ? read_work(fields.map("work"), {}) : Work{};
  std::set<std::string> names;
  for (const Value& item : fields.list("kinds")) {
    Fields own = fields.view(item, "kinds");
    JobKind kind;
    kind.name = job_name(own, "name");
    kind.where = own.where(item, "");
    if (!names.insert(kind.name).second)
      own.fail("name", base::quote(kind.name) + " stands twice", "give each kind its own name");
    own.has("scenario") ? take_scenario(document, own, kind) : take_costs(own, work, kind);
    kind.state = own.bytes("state", kind.state);
    const int bound = kind.layers > 0 ? kind.layers : kMaxStages;
    kind.least = static_cast<int>(own.integer("least", 1, bound, 1));
    kind.most = static_cast<int>(own.integer("most", kind.least, bound, bound));
    own.done();
    file.kinds.push_back(std::move(kind));
  }
  if (file.kinds.empty() || file.kinds.size() > 1000)
    fields.fail("kinds", "has " + std::to_string(file.kinds.size()) + " entries", "1 to 1000");
}

}  // namespace paceline::models
