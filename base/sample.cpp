// SPDX-License-Identifier: Apache-2.0
#include "base/sample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/json_lines.hpp"
#include "base/message.hpp"

namespace paceline::base {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kLeastTime = 1e-15, kMostTime = 1e7;
constexpr std::int64_t kMostExtent = std::int64_t{1}
                                     << 47;  // bytes of any memory; exact as a double
constexpr std::size_t kMostExtents = 16;

/// Achieved rate of so much work, 0 where there was none.
double rate(double work, Seconds time) { return work / time.value; }

void write_machine(JsonWriter& json, const Machine& machine) {
  json.field("backend", std::string_view(machine.backend));
  json.key("device").begin_object().field("name", std::string_view(machine.device));
  json.field("memory_bytes", machine.memory.value).field("multiprocessors", machine.units);
  json.end_object().field("host", std::string_view(machine.host));
}

void write_work(JsonWriter& json, const Sample& s) {
  json.field("kernel", std::string_view(s.kernel)).field("pass", std::string_view(s.pass));
  json.field("type", std::string_view(s.type)).key("extents").begin_object();
  for (const auto& [name, value] : s.extents) json.field(name, value);
  json.end_object();
  if (!s.beside.empty()) json.field("beside", std::string_view(s.beside));
  if (s.together > 1) json.field("together", s.together);
}

/// Lower-case names with digits and hyphens, as kernels, passes and extents have them.
std::string name_of(Fields& fields, std::string_view key) {
  const std::string text = fields.text(key);
  const bool plain =
      !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
      });
  if (!plain) fields.fail(key, quote(text) + " is no name", "lower-case letters, digits, -, _");
  return text;
}

/// Texts that are printed: short ones.
std::string short_text(Fields& fields, std::string_view key) {
  const std::string text = fields.text(key);
  if (text.empty() || text.size() > 200) fields.fail(key, "must have 1 to 200 bytes");
  return text;
}

std::string read_time(Fields& fields) {
  const std::string text = fields.text("time");
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  bool good = text.size() == kPattern.size();
  for (std::size_t i = 0; good && i < text.size(); ++i)
    good = kPattern[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kPattern[i];
  if (!good) fields.fail("time", quote(text) + " is no UTC time", "as in 2026-01-31T12:00:00Z");
  return text;
}

Machine read_machine(Fields& fields) {
  Machine machine;
  machine.backend = name_of(fields, "backend");
  Fields device = fields.map("device");
  machine.device = short_text(device, "name");
  machine.memory = Bytes(device.number("memory_bytes", 0, 1e18));
  machine.units = static_cast<int>(device.integer("multiprocessors", 1, 100'000));
  device.done();
  machine.host = short_text(fields, "host");
  return machine;
}

Extents read_extents(Fields& fields) {
  Extents extents;
  const Value& map = fields.at("extents");
  Fields view = fields.map("extents");
  if (map.fields.empty() || map.fields.size() > kMostExtents)
    fields.fail("extents", "must have 1 to " + std::to_string(kMostExtents) + " extents");
  for (const Field& field : map.fields)
    extents.emplace_back(field.key, view.integer(field.key, 0, kMostExtent));
  return extents;
}

void read_times(Fields& fields, Sample& s) {
  s.median = Seconds(fields.number("median_s", kLeastTime, kMostTime));
  s.min = Seconds(fields.number("min_s", kLeastTime, kMostTime));
  if (s.min > s.median) fields.fail("min_s", "is above the median");
  s.spread = Seconds(fields.number("spread_s", 0, kMostTime));
  s.repetitions = static_cast<int>(fields.integer("repetitions", 1, 1'000'000'000));
  s.calls = fields.integer("calls", 1, kMostExtent);
}

/// The rates are there for people; what they say must follow from time and work.
void check_rate(Fields& fields, std::string_view key, double work, Seconds median) {
  const double stated = fields.number(key, 0, kMost), expected = rate(work, median);
  if (std::abs(stated - expected) > 1e-6 * expected)
    fields.fail(key, "contradicts median_s and the work", "expected " + shortest(expected));
}

std::optional<double> optional_number(Fields& fields, std::string_view key, double low,
                                      double high) {
  if (!fields.has(key)) return std::nullopt;
  return fields.number(key, low, high);
}

Sample read_sample(const Document& line) {
  Fields fields(line, line.root);
  Sample s;
  if (const std::string schema = fields.text("schema"); schema != kSampleSchema)
    fields.fail("schema", "is " + quote(schema),
                "this version reads \"" + std::string(kSampleSchema) + "\"");
  s.version = short_text(fields, "version");
  s.machine = read_machine(fields);
  s.time = read_time(fields);
  s.kernel = name_of(fields, "kernel");
  s.pass = name_of(fields, "pass");
  s.type = name_of(fields, "type");
  s.extents = read_extents(fields);
  if (fields.has("beside")) s.beside = name_of(fields, "beside");
  if (fields.has("together"))
    s.together = static_cast<int>(fields.integer("together", 1, kMostTogether));
  read_times(fields, s);
  s.flops = Flops(fields.number("flops", 0, 1e30));
  s.bytes = Bytes(fields.number("bytes", 0, 1e30));
  check_rate(fields, "flops_per_s", s.flops.value, s.median);
  check_rate(fields, "bytes_per_s", s.bytes.value, s.median);
  s.load_average = fields.number("load_average", 0, 1e6);
  s.other_cores = fields.number("other_cores", 0, 1e6);
  s.busy = fields.flag("busy");
  s.clock_Hz = optional_number(fields, "clock_Hz", 1, 1e12);
  s.temperature = optional_number(fields, "temperature_C", -100, 1000);
  if (const auto watts = optional_number(fields, "power_W", 0, 1e6)) s.power = Watts(*watts);
  fields.done();
  return s;
}

void check_complete(const Document& line, const SampleFile& file) {
  Fields fields(line, line.root);
  fields.text("schema");
  if (!fields.flag("complete")) fields.fail("complete", "is false", "leave the line out");
  const auto count = static_cast<std::int64_t>(file.samples.size());
  if (fields.integer("samples", 0, kMostExtent) != count)
    fields.fail("samples", "the file has " + std::to_string(count));
  fields.integer("busy", 0, count);
  fields.done();
}

}  // namespace

std::optional<std::int64_t> extent(const Sample& sample, std::string_view name) {
  for (const auto& [key, value] : sample.extents)
    if (key == name) return value;
  return std::nullopt;
}

std::string sample_label(const Sample& s) {
  std::string text = s.kernel + " " + s.pass + " " + s.type;
  for (const auto& [name, value] : s.extents) text += " " + name + "=" + std::to_string(value);
  if (!s.beside.empty()) text += " beside " + s.beside;
  return text;
}

void write_sample(JsonWriter& json, const Sample& s) {
  json.begin_object().field("schema", kSampleSchema);
  json.field("version", std::string_view(s.version));
  write_machine(json, s.machine);
  json.field("time", std::string_view(s.time));
  write_work(json, s);
  json.field("median_s", s.median.value).field("min_s", s.min.value);
  json.field("spread_s", s.spread.value).field("repetitions", s.repetitions);
  json.field("calls", s.calls).field("flops", s.flops.value).field("bytes", s.bytes.value);
  json.field("flops_per_s", rate(s.flops.value, s.median));
  json.field("bytes_per_s", rate(s.bytes.value, s.median));
  if (s.clock_Hz) json.field("clock_Hz", *s.clock_Hz);
  if (s.temperature) json.field("temperature_C", *s.temperature);
  if (s.power) json.field("power_W", s.power->value);
  json.field("load_average", s.load_average).field("other_cores", s.other_cores);
  json.field("busy", s.busy).end_object();
}

std::string sample_line(const Sample& s) {
  JsonWriter json(0);
  write_sample(json, s);
  return json.finish();
}

std::string samples_complete_line(std::size_t samples, std::size_t busy) {
  JsonWriter json(0);
  json.begin_object().field("schema", kSampleSchema).field("complete", true);
  json.field("samples", static_cast<std::uint64_t>(samples));
  json.field("busy", static_cast<std::uint64_t>(busy)).end_object();
  return json.finish();
}

SampleFile parse_samples(std::string_view text, const std::string& file) {
  SampleFile result;
  result.file = file;
  result.hash = hash_text(text);
  int number = 0;
  const Limits limits{.bytes = kMaxSampleLine, .depth = 4, .nodes = 200};
  const LinesRead read = read_json_lines(text, file, limits, [&](const Document& line) {
    ++number;
    if (find_path(line.root, "complete") != nullptr) return check_complete(line, result);
    result.samples.push_back(read_sample(line));
    result.lines.push_back(number);
    if (result.samples.size() > kMaxSamples)
      throw Error(where(result, result.samples.size() - 1),
                  "more than " + std::to_string(kMaxSamples) + " samples");
  });
  result.complete = read.complete;
  result.cut_short = read.cut_short;
  return result;
}

SampleFile read_samples(const std::string& path) {
  return parse_samples(read_file(path, kMaxSampleBytes), path);
}

std::string where(const SampleFile& file, std::size_t sample) {
  return one_line(file.file) + ":" + std::to_string(file.lines[sample]) + ":1";
}

}  // namespace paceline::base
