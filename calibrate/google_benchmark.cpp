// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "base/config.hpp"
#include "base/message.hpp"
#include "calibrate/inputs.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {
namespace {

using base::Fields;

constexpr std::array<base::Named<double>, 4> kUnits{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};
constexpr double kMost = 1e30;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;; at = text.find(separator, at) + 1) {
    parts.emplace_back(text.substr(at, text.find(separator, at) - at));
    if (text.find(separator, at) == std::string_view::npos) return parts;
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// What Google Benchmark itself adds to names.
bool is_setting(std::string_view part) {
  constexpr std::array<std::string_view, 9> kSettings{
      "real_time", "manual_time", "process_time", "min_time:", "min_warmup_time:",
      "repeats:",  "iterations:", "threads:",     "real_time:"};
  return std::any_of(kSettings.begin(), kSettings.end(), [&](std::string_view setting) {
    return setting.ends_with(':') ? part.starts_with(setting) : part == setting;
  });
}

/// Kernel, pass, type and extents of "gemm/forward/fp32/m:512/…"; nothing for other names.
std::optional<base::Sample> named_sample(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  if (parts.size() < 4 || parts.size() > 24) return std::nullopt;
  base::Sample s;
  s.kernel = parts[0];
  s.pass = parts[1];
  s.type = parts[2];
  if (!is_name(s.kernel) || !is_name(s.pass) || !is_name(s.type)) return std::nullopt;
  for (std::size_t i = 3; i < parts.size(); ++i) {
    if (is_setting(parts[i])) continue;
    const std::size_t colon = parts[i].find(':');
    if (colon == std::string::npos) return std::nullopt;
    const std::string extent_name = parts[i].substr(0, colon);
    std::int64_t value = 0;
    const char* end = parts[i].data() + parts[i].size();
    const auto read = std::from_chars(parts[i].data() + colon + 1, end, value);
    if (!is_name(extent_name) || read.ec != std::errc() || read.ptr != end || value < 0 ||
        value > (std::int64_t{1} << 53) || base::extent(s, extent_name))
      return std::nullopt;
    s.extents.emplace_back(extent_name, value);
  }
  if (s.extents.empty()) return std::nullopt;
  return s;
}

/// "2026-01-31T12:00:00+00:00" in UTC as far as the text tells: the date and time as written.
std::string utc_of(const std::string& date) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd";
  if (date.size() < kPattern.size()) return "1970-01-01T00:00:00Z";
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = date[i] >= '0' && date[i] <= '9';
    if (kPattern[i] == 'd' ? !digit : date[i] != kPattern[i]) return "1970-01-01T00:00:00Z";
  }
  return date.substr(0, kPattern.size()) + "Z";
}

struct Context {
  base::Machine machine;
  std::string time;
  double clock = 0, load = 0;
};

Context read_context(Fields fields) {
  Context context;
  const std::string host = base::one_line(fields.text("host_name", "unknown"));
  context.machine.host = host.empty() ? "unknown" : host;
  context.machine.backend = fields.text("backend", "cpu");
  context.machine.device =
      base::one_line(fields.text("device", "a processor of " + context.machine.host));
  context.time = utc_of(fields.text("date", ""));
  context.clock = fields.number("mhz_per_cpu", 0, 1e7, 0) * 1e6;
  if (fields.has("load_avg") && !fields.list("load_avg").empty())
    context.load =
        base::parse_number(fields.list("load_avg").front().text, fields.where("load_avg"), 0, 1e6);
  fields.ignore_rest();
  return context;
}

struct Repetitions {
  base::Sample sample;
  std::vector<double> seconds;
  double bytes = 0;
};

/// Times of one entry; false when it is an aggregate, an error, or of no kernel of ours.
bool add_entry(Fields fields, std::map<std::string, Repetitions>& runs, int& skipped) {
  fields.ignore_rest();
  if (fields.text("run_type", "iteration") != "iteration") return false;
  if (fields.flag("error_occurred", false)) return false;
  const std::string name = fields.text("run_name", fields.text("name"));
  std::optional<base::Sample> sample = named_sample(name);
  if (!sample) {
    ++skipped;
    return false;
  }
  const double unit =
      fields.choice<double>("time_unit", std::span<const base::Named<double>>(kUnits));
  const double seconds = fields.number("real_time", 0, kMost) * unit;
  if (!(seconds >= 1e-12) || seconds > 1e7)
    fields.fail("real_time", "must be a time between 1 ps and 1e7 s");
  Repetitions& run = runs[name];
  run.sample = std::move(*sample);
  run.sample.calls = fields.integer("iterations", 1, std::int64_t{1} << 53, 1);
  run.seconds.push_back(seconds);
  run.bytes = fields.number("bytes_per_second", 0, kMost, 0) * seconds;
  return true;
}

base::Sample finished(Repetitions run, const Context& context) {
  base::Sample s = std::move(run.sample);
  s.version = "Google Benchmark";
  s.machine = context.machine;
  s.time = context.time;
  s.median = base::Seconds(median(run.seconds));
  s.min = base::Seconds(*std::min_element(run.seconds.begin(), run.seconds.end()));
  s.spread = base::Seconds(quantile(run.seconds, 0.75) - quantile(run.seconds, 0.25));
  s.repetitions = static_cast<int>(run.seconds.size());
  s.bytes = base::Bytes(run.bytes);
  s.load_average = context.load;
  if (context.clock > 0) s.clock_Hz = context.clock;
  return s;
}

}  // namespace

base::SampleFile parse_google_benchmark(std::string_view text, const std::string& file,
                                        int& skipped) {
  const base::Document document = base::parse_json(text, base::one_line(file));
  Fields fields(document, document.root);
  fields.ignore_rest();
  const Context context = read_context(fields.map("context"));
  std::map<std::string, Repetitions> runs;
  std::map<std::string, int> lines;
  for (const base::Value& entry : fields.list("benchmarks")) {
    const std::size_t before = runs.size();
    Fields view = fields.view(entry, "benchmarks");
    if (add_entry(view, runs, skipped) && runs.size() > before)
      lines[view.text("run_name", view.text("name"))] = entry.place.line;
  }
  base::SampleFile result;
  result.file = file;
  result.hash = base::hash_text(text);
  result.complete = true;
  for (auto& [name, run] : runs) {
    result.samples.push_back(finished(std::move(run), context));
    result.lines.push_back(lines[name]);
  }
  if (result.samples.empty())
    throw base::Error(base::one_line(file), "no benchmark in it is named as kernels are",
                      "for example gemm/forward/fp32/m:512/n:512/k:512");
  return result;
}

}  // namespace paceline::calibrate
