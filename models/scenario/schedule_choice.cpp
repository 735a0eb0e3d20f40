// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/schedule_choice.hpp"

#include <array>
#include <filesystem>
#include <limits>

#include "base/message.hpp"

namespace paceline::models {
namespace {

struct NamedTraits {
  std::string_view name;
  ScheduleTraits traits;
};
constexpr NamedTraits kTraits[] = {
#define PACELINE_SCHEDULE(function, name, traits, summary) {name, traits},
#include "models/scenario/schedules.def"
#undef PACELINE_SCHEDULE
};

constexpr std::array<base::Named<Dispatch>, 2> kDispatches{
    {{"fixed", Dispatch::Fixed}, {"ready", Dispatch::Ready}}};

/// One message arrives while another waits.
constexpr int kReadyBuffers = 2;

struct OptionKey {
  std::string_view key;
  std::uint32_t bit;
};
constexpr OptionKey kOptionKeys[] = {{"chunks", kTakesChunks},
                                     {"slices", kTakesSlices},
                                     {"group", kTakesGroup},
                                     {"update_every", kTakesUpdateEvery},
                                     {"directions", kTakesDirections},
                                     {"memory_limit", kTakesMemoryLimit},
                                     {"skip", kTakesSkip},
                                     {"seed", kTakesSeed},
                                     {"pools", kTakesPools}};

/// The user's own order in place of a name. It has no options: everything stands in it.
void read_file(base::Fields& fields, const std::string& folder, ScheduleChoice& choice) {
  choice.name = fields.text("file");
  if (fields.has("name"))
    fields.fail("name", "stands beside a file", "a schedule has a name or a file");
  if (choice.name.empty())
    fields.fail("file", "is empty", "the path of a file of actions, relative to the scenario");
  choice.file = (std::filesystem::path(folder) / choice.name).lexically_normal().string();
  try {
    choice.file_text = base::read_file(choice.file);
  } catch (const base::Error& error) {
    throw base::Error(fields.where("file"), error.what());
  }
  for (const OptionKey& option : kOptionKeys) {
    if (option.bit != kTakesChunks && fields.has(option.key))
      fields.fail(option.key, "means nothing beside a file", "the file holds the whole order");
  }
}

/// An option of other schedules is a mistake, not something to pass over. `chunks` equal to the
/// only choice may be written out.
void refuse_foreign_options(base::Fields& fields, const ScheduleChoice& choice,
                            const ScheduleTraits& traits) {
  const std::string takes = option_names(traits);
  for (const OptionKey& option : kOptionKeys) {
    if (!fields.has(option.key) || (traits.takes & option.bit) != 0) continue;
    if (option.bit == kTakesChunks && (choice.chunks == traits.chunks || traits.chunks == 1))
      continue;
    fields.fail(option.key, base::quote(choice.name) + " does not take it",
                takes.empty() ? "the schedule has no options" : "it takes " + takes);
  }
}

/// `dispatch: ready`, or a map with what belongs to it.
DispatchOptions read_dispatch(base::Fields& schedule) {
  constexpr int kMany = 1'000'000;
  DispatchOptions dispatch;
  const base::Value* value = schedule.find("dispatch");
  if (value == nullptr) return dispatch;
  if (value->kind != base::Value::Kind::Map) {
    dispatch.policy = schedule.choice<Dispatch>("dispatch", kDispatches);
    if (dispatch.policy == Dispatch::Ready) dispatch.buffers = kReadyBuffers;
    return dispatch;
  }
  base::Fields fields = schedule.map("dispatch");
  dispatch.policy = fields.choice<Dispatch>("policy", kDispatches);
  for (const char* key : {"buffers", "coordination"}) {
    if (dispatch.policy == Dispatch::Ready || !fields.has(key)) continue;
    fields.fail(key, "means nothing with policy: fixed", "leave it out, or say policy: ready");
  }
  if (dispatch.policy == Dispatch::Ready) {
    const base::Value* buffers = fields.find("buffers");
    const bool unlimited = buffers != nullptr && buffers->text == "unlimited";
    dispatch.buffers =
        unlimited ? 0 : static_cast<int>(fields.integer("buffers", 1, kMany, kReadyBuffers));
    dispatch.coordination = fields.seconds("coordination", base::Seconds(0));
  }
  fields.done();
  return dispatch;
}

ScheduleOptions read_options(base::Fields& fields) {
  constexpr int kMany = 1'000'000;
  const auto count = [&](std::string_view key) {
    return fields.has(key) ? static_cast<int>(fields.integer(key, 1, kMany)) : 0;
  };
  ScheduleOptions o;
  o.slices = count("slices");
  o.group = count("group");
  o.update_every = count("update_every");
  o.directions = count("directions");
  o.memory_limit = fields.number("memory_limit", 0.001, kMany, 0);
  o.skip = fields.number("skip", 0, 0.99, 0);
  o.seed = static_cast<std::uint64_t>(
      fields.integer("seed", 0, std::numeric_limits<std::int64_t>::max(), 0));
  o.pools = count("pools");
  return o;
}

}  // namespace

std::string option_names(const ScheduleTraits& traits) {
  std::string takes;
  for (const OptionKey& option : kOptionKeys) {
    if ((traits.takes & option.bit) != 0)
      takes += (takes.empty() ? "" : ", ") + std::string(option.key);
  }
  return takes;
}

const ScheduleTraits* schedule_traits(std::string_view name) {
  for (const NamedTraits& entry : kTraits) {
    if (entry.name == name) return &entry.traits;
  }
  return nullptr;
}

ScheduleChoice read_schedule(const base::Document& document, const base::Value* value,
                             const std::string& folder) {
  ScheduleChoice choice;
  if (value == nullptr) return choice;
  if (value->kind == base::Value::Kind::Scalar) {
    choice.name = value->text;
    if (const ScheduleTraits* traits = schedule_traits(choice.name)) choice.chunks = traits->chunks;
    return choice;
  }
  base::Fields fields(document, *value, "schedule");
  if (fields.has("file")) {
    read_file(fields, folder, choice);
  } else {
    choice.name = fields.text("name");
  }
  const ScheduleTraits* traits = choice.file.empty() ? schedule_traits(choice.name) : nullptr;
  choice.chunks =
      static_cast<int>(fields.integer("chunks", 1, 10'000, traits == nullptr ? 1 : traits->chunks));
  choice.dispatch = read_dispatch(fields);
  choice.options = read_options(fields);
  if (traits != nullptr) refuse_foreign_options(fields, choice, *traits);
  fields.done();
  return choice;
}

}  // namespace paceline::models
