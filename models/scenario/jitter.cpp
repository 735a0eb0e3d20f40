// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/jitter.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/message.hpp"
#include "models/scenario/number_lines.hpp"

namespace paceline::models {
namespace {

constexpr double kMaxSigma = 3;  ///< the 99th percentile is then 12 times the mean
constexpr double kMaxFactor = 1000;
constexpr double kMinTraceFactor = 1e-3;
constexpr std::size_t kMaxTrace = 1'000'000;
constexpr std::size_t kMaxTraceBytes = 32U << 20;
constexpr int kMaxRepetitions = 1'000'000;

std::vector<double> read_trace_file(const std::string& path) {
  std::vector<double> factors;
  for_each_line(path, kMaxTraceBytes, [&](std::string_view word, const std::string& where) {
    factors.push_back(base::parse_number(word, where, kMinTraceFactor, kMaxFactor));
  });
  return factors;
}

std::vector<double> read_trace(base::Fields& fields, const std::string& folder) {
  std::vector<double> factors;
  if (fields.at("trace").kind == base::Value::Kind::Scalar) {
    const std::filesystem::path file(fields.text("trace"));
    const std::string path =
        (file.is_absolute() ? file : std::filesystem::path(folder) / file).string();
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) {
      fields.fail("trace", base::quote(path) + ": no such file",
                  "a file of one number a line, beside the scenario or with its whole path");
    }
    factors = read_trace_file(path);
  } else {
    for (const base::Value& item : fields.list("trace")) {
      if (item.kind != base::Value::Kind::Scalar || item.quoted) {
        throw base::Error(fields.where(item, "trace"), "expected a factor",
                          "a number without quotes");
      }
      factors.push_back(
          base::parse_number(item.text, fields.where(item, "trace"), kMinTraceFactor, kMaxFactor));
    }
  }
  if (factors.empty()) fields.fail("trace", "holds no factor", "one number a line, or a list");
  if (factors.size() > kMaxTrace) {
    fields.fail("trace", "holds " + std::to_string(factors.size()) + " factors",
                std::to_string(kMaxTrace) + " at most");
  }
  return factors;
}

JitterLaw read_law(base::Fields fields, const std::string& folder) {
  JitterLaw law;
  law.sigma = fields.number("sigma", 0, kMaxSigma, 0);
  if (fields.has("tail")) {
    base::Fields tail = fields.map("tail");
    law.tail_probability = tail.number("probability", 0, 1);
    law.tail_factor = tail.number("factor", 1, kMaxFactor);
    law.tail_shape = tail.number("shape", 1.01, 1000, law.tail_shape);
    tail.done();
  }
  if (fields.has("trace")) law.trace = read_trace(fields, folder);
  fields.done();
  return law;
}

std::vector<Straggler> read_stragglers(base::Fields& fields, int world_size) {
  std::vector<Straggler> stragglers;
  for (const base::Value& item : fields.list("stragglers")) {
    base::Fields entry = fields.view(item, "stragglers." + std::to_string(stragglers.size()));
    Straggler s;
    s.rank = static_cast<int>(entry.integer("rank", 0, std::numeric_limits<int>::max()));
    if (s.rank >= world_size) {
      entry.fail("rank", "there is no rank " + std::to_string(s.rank),
                 "ranks are 0 to " + std::to_string(world_size - 1));
    }
    const bool again = std::any_of(stragglers.begin(), stragglers.end(),
                                   [&](const Straggler& other) { return other.rank == s.rank; });
    if (again) entry.fail("rank", "rank " + std::to_string(s.rank) + " stands twice");
    s.factor = entry.number("factor", 1, kMaxFactor);
    entry.done();
    stragglers.push_back(s);
  }
  return stragglers;
}

}  // namespace

Jitter read_jitter(base::Fields fields, const std::string& folder, int world_size) {
  Jitter jitter;
  if (fields.has("compute")) jitter.compute = read_law(fields.map("compute"), folder);
  if (fields.has("links")) jitter.links = read_law(fields.map("links"), folder);
  if (fields.has("stragglers")) jitter.stragglers = read_stragglers(fields, world_size);
  jitter.seed = static_cast<std::uint64_t>(fields.integer(
      "seed", 0, std::numeric_limits<std::int64_t>::max(), static_cast<std::int64_t>(jitter.seed)));
  jitter.repetitions =
      static_cast<int>(fields.integer("repetitions", 1, kMaxRepetitions, jitter.repetitions));
  fields.done();
  return jitter;
}

}  // namespace paceline::models
