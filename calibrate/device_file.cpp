// SPDX-License-Identifier: Apache-2.0
#include "base/message.hpp"
#include "base/text.hpp"
#include "calibrate/calibrate.hpp"

namespace paceline::calibrate {
namespace {

// A rank that says nothing of its memory may be asked for this much.
constexpr double kMemoryGuess = 4.0 * (1u << 30);

/// A YAML text in double quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : base::one_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string number(const std::string& value, const char* source) {
  return "{value: " + value + ", source: " + source + "}\n";
}

}  // namespace

std::string device_yaml(const Calibration& c, const std::string& profile_file) {
  const models::Device& d = c.device;
  const bool known = d.memory.value > 0;
  std::string text = "summary: " + quoted(d.summary) + "\n";
  text += "note: \"the rates are the best that were measured, not those of a data sheet\"\n";
  text += "generation: " + d.generation + "\nprofile: " + quoted(profile_file) + "\nsources:\n";
  text += "  bench: " + quoted(c.profile.source) + "\n";
  if (!known) text += "  assumed: \"assumed: the samples do not say\"\n";
  text += "matrix_rate:\n";
  for (const auto& [name, precision] : models::kPrecisions) {
    const auto rate = d.matrix_rate[static_cast<std::size_t>(precision)];
    if (rate.value > 0)
      text += "  " + std::string(name) + ": " + number(base::unit_text(rate), "bench");
  }
  text += "vector_rate: " + number(base::unit_text(d.vector_rate), "bench");
  text += "multiprocessors: " + number(std::to_string(d.multiprocessors), "bench");
  text += "memory: " + (known ? number(base::unit_text(d.memory), "bench")
                              : number(base::unit_text(base::Bytes(kMemoryGuess)), "assumed"));
  text += "memory_bandwidth: " + number(base::unit_text(d.memory_bandwidth), "bench");
  text += "host_bandwidth: " + number(base::unit_text(d.host_bandwidth), "bench");
  return text;
}

}  // namespace paceline::calibrate
