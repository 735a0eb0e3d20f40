// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/device.hpp"

#include <filesystem>

#include "base/message.hpp"
#include "models/hardware/sourced.hpp"

namespace paceline::models {
namespace {

struct NumberReader {
  base::Fields& fields;
  const SourceList& sources;
  std::vector<Fact>& facts;
  std::string prefix;

  template <class Read>
  auto number(std::string_view key, Read read) {
    return sourced(fields, key, sources, facts, prefix, read);
  }
  base::FlopsPerSecond flops_rate(std::string_view key) {
    return number(key, [](base::Fields& f, std::string_view k) { return f.flops_rate(k); });
  }
  base::BytesPerSecond rate(std::string_view key) {
    return number(key, [](base::Fields& f, std::string_view k) { return f.rate(k); });
  }
  base::Watts watts(std::string_view key) {
    return number(key, [](base::Fields& f, std::string_view k) { return f.watts(k); });
  }
  template <class Q>
  Q positive(std::string_view key, Q value) {
    if (!(value.value > 0)) fields.fail(key, "must be above 0");
    return value;
  }
};

void read_matrix_rates(base::Fields& fields, const SourceList& sources, Device& device) {
  base::Fields rates = fields.map("matrix_rate");
  NumberReader in{rates, sources, device.facts, "matrix_rate."};
  for (const auto& [name, precision] : kPrecisions) {
    const auto index = static_cast<std::size_t>(precision);
    if (rates.has(name))
      device.matrix_rate[index] = in.positive(name, in.flops_rate(name));
    else
      device.facts.push_back({"matrix_rate." + std::string(name), "not supported", ""});
  }
  rates.done();
}

constexpr std::array<base::Named<std::string_view>, 13> kGenerations{{{"pascal", "pascal"},
                                                                      {"volta", "volta"},
                                                                      {"turing", "turing"},
                                                                      {"ampere", "ampere"},
                                                                      {"ada", "ada"},
                                                                      {"hopper", "hopper"},
                                                                      {"blackwell", "blackwell"},
                                                                      {"cdna2", "cdna2"},
                                                                      {"cdna3", "cdna3"},
                                                                      {"cdna4", "cdna4"},
                                                                      {"davinci", "davinci"},
                                                                      {"xe-hpc", "xe-hpc"},
                                                                      {"cpu", "cpu"}}};

}  // namespace

std::string_view to_text(Precision p) {
  for (const auto& [name, precision] : kPrecisions)
    if (precision == p) return name;
  PACELINE_CHECK(false);
  return {};
}

double element_bytes(Precision p) {
  switch (p) {
    case Precision::Fp32:
      return 4;
    case Precision::Fp16:
      return 2;
    case Precision::Bf16:
      return 2;
    case Precision::Fp8:
      return 1;
  }
  PACELINE_CHECK(false);
  return 0;
}

Device read_device(const base::Document& document, const std::string& name) {
  base::Fields fields(document, document.root);
  Device device;
  device.name = name;
  device.summary = fields.text("summary");
  device.note = fields.text("note", "");
  device.generation = fields.choice<std::string_view>(
      "generation", std::span<const base::Named<std::string_view>>(kGenerations));
  device.profile = fields.text("profile");
  if (names_file(device.profile)) device.profile = path_beside(document.file, device.profile);
  const SourceList sources = read_sources(fields);
  NumberReader in{fields, sources, device.facts, ""};
  read_matrix_rates(fields, sources, device);
  device.vector_rate = in.positive("vector_rate", in.flops_rate("vector_rate"));
  device.multiprocessors =
      static_cast<int>(in.number("multiprocessors", [](base::Fields& f, std::string_view k) {
        return f.integer(k, 1, 100'000);
      }));
  device.memory = in.positive(
      "memory",
      in.number("memory", [](base::Fields& f, std::string_view k) { return f.bytes(k); }));
  device.memory_bandwidth = in.positive("memory_bandwidth", in.rate("memory_bandwidth"));
  device.host_bandwidth = in.positive("host_bandwidth", in.rate("host_bandwidth"));
  if (fields.has("tdp"))
    device.tdp = in.positive("tdp", in.watts("tdp"));
  else
    device.facts.push_back({"tdp", "unknown", ""});
  if (fields.has("idle"))
    device.idle = in.positive("idle", in.watts("idle"));
  else
    device.facts.push_back({"idle", "unknown", ""});
  if (fields.has("overlap_slowdown")) {
    device.overlap_slowdown = in.number(
        "overlap_slowdown", [](base::Fields& f, std::string_view k) { return f.number(k, 1, 10); });
  } else {
    device.facts.push_back({"overlap_slowdown", "unknown", ""});
  }
  if (device.idle && device.tdp && *device.idle > *device.tdp)
    fields.fail("idle", "must not exceed tdp");
  fields.done();
  device.source = joined_sources(device.facts);
  return device;
}

Device read_device_at(base::Fields& fields, std::string_view key) {
  const std::string name = fields.text(key);
  if (!names_file(name)) return read_device(name, fields.where(key));
  const std::string path = path_beside(fields.file(), name);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    fields.fail(key, "no file " + base::quote(path),
                "a path from the folder of the file that names it, or a name of `paceline list "
                "devices`");
  return read_device(base::read_document(path), std::filesystem::path(path).stem().string());
}

Device read_device(const std::string& name, const std::string& where) {
  return read_device(base::read_document(spec_path("device", name, where)), name);
}

std::string describe(const Device& device) {
  std::string out = device.name + ": " + device.summary + " (" + device.generation + ", profile " +
                    device.profile + ")\n";
  if (!device.note.empty()) out += "  " + device.note + "\n";
  return out + facts_table(device.facts);
}

}  // namespace paceline::models
