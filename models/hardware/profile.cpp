// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/profile.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "base/message.hpp"

namespace paceline::models {
namespace {

using base::Fields;

constexpr double kTera = 1e12;
constexpr double kMicro = 1e-6;

GemmLaw read_gemm(Fields fields) {
  GemmLaw law;
  law.sustained = fields.number("sustained_fraction", 0.01, 1.0);
  law.wave_overhead = base::Seconds(fields.number("wave_overhead_us", 0, 1e3) * kMicro);
  law.source = fields.text("source");
  fields.done();
  return law;
}

AttentionCurve read_curve(Fields fields) {
  AttentionCurve curve;
  curve.kernel = fields.text("kernel");
  curve.head_dim = static_cast<int>(fields.integer("head_dim", 1, 1024));
  curve.causal = fields.flag("causal");
  if (fields.has("precision"))
    curve.precision =
        fields.choice<Precision>("precision", std::span<const base::Named<Precision>>(kPrecisions));
  curve.source = fields.text("source");
  for (const base::Value& item : fields.list("points")) {
    Fields point = fields.view(item, "points");
    AttentionPoint read;
    read.sequence = point.number("sequence", 1, 1e9);
    read.forward = base::FlopsPerSecond(point.number("forward_TFLOPs", 1e-3, 1e6) * kTera);
    read.backward = base::FlopsPerSecond(point.number("backward_TFLOPs", 1e-3, 1e6) * kTera);
    point.done();
    if (!curve.points.empty() && read.sequence <= curve.points.back().sequence) {
      point.fail("sequence", "must grow from point to point");
    }
    curve.points.push_back(read);
  }
  if (curve.points.empty()) fields.fail("points", "is empty", "at least one point");
  fields.done();
  return curve;
}

constexpr double kGiga = 1e9;
constexpr std::size_t kMaxPoints = 10'000;

/// `[[size, us], …]`, growing.
std::vector<CurvePoint> read_points(Fields& fields, std::string_view key) {
  std::vector<CurvePoint> points;
  for (const base::Value& item : fields.list(key)) {
    if (item.kind != base::Value::Kind::List || item.items.size() != 2)
      throw base::Error(fields.where(item, key), "a point is [size, microseconds]");
    double pair[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const base::Value& v = item.items[i];
      if (v.kind != base::Value::Kind::Scalar)
        throw base::Error(fields.where(v, key), "must be a number above 0");
      pair[i] = base::parse_number(v.text, fields.where(v, key), 1e-9, 1e18);
    }
    if (!points.empty() && pair[0] <= points.back().x)
      throw base::Error(fields.where(item, key), "sizes must grow from point to point");
    points.push_back({pair[0], pair[1] * kMicro});
  }
  if (points.empty() || points.size() > kMaxPoints)
    fields.fail(key, "must have 1 to " + std::to_string(kMaxPoints) + " points");
  return points;
}

KernelCurve read_kernel(Fields fields) {
  KernelCurve curve;
  curve.kernel = kernel_kind(fields.text("kernel"), fields.where("kernel")).name;
  curve.pass = fields.text("pass");
  curve.type = fields.text("type");
  if (fields.has("extents")) {
    const base::Value& map = fields.at("extents");
    Fields extents = fields.map("extents");
    for (const base::Field& field : map.fields)
      curve.fixed.emplace_back(field.key, extents.integer(field.key, 0, std::int64_t{1} << 53));
  }
  curve.points = read_points(fields, "points_us");
  curve.curve = MonotoneCurve(curve.points);
  fields.done();
  return curve;
}

CopyLaw read_copy(Fields fields) {
  CopyLaw law;
  law.latency = base::Seconds(fields.number("latency_us", 0, 1e6) * kMicro);
  law.rate = base::BytesPerSecond(fields.number("bandwidth_GBps", 1e-6, 1e6) * kGiga);
  fields.done();
  return law;
}

MeasuredCollective read_collective(Fields fields) {
  MeasuredCollective measured;
  const std::string op = fields.text("op");
  if (!collective_named(op)) fields.fail("op", base::quote(op) + " is no collective");
  measured.op = *collective_named(op);
  measured.ranks = static_cast<int>(fields.integer("ranks", 2, 1 << 20));
  measured.nodes = static_cast<int>(fields.integer("nodes", 1, measured.ranks));
  measured.source = fields.text("source");
  measured.points = read_points(fields, "points_B_us");
  if (fields.has("regimes")) {
    for (const base::Value& item : fields.list("regimes")) {
      Fields regime = fields.view(item, "regimes");
      measured.regimes.push_back(
          {base::Bytes(regime.number("from_bytes", 0, 1e18)),
           base::Bytes(regime.number("to_bytes", 0, 1e18)),
           base::Seconds(regime.number("latency_us", 0, 1e12) * kMicro),
           base::BytesPerSecond(regime.number("bandwidth_GBps", 0, 1e12) * kGiga)});
      regime.done();
    }
  }
  fields.done();
  return measured;
}

ProfileInput read_input(Fields fields) {
  ProfileInput input;
  input.file = fields.text("file");
  input.hash = fields.text("hash");
  input.samples = static_cast<int>(fields.integer("samples", 0, 1'000'000'000));
  input.used = static_cast<int>(fields.integer("used", 0, input.samples));
  input.first = fields.text("first", "");
  input.last = fields.text("last", "");
  fields.done();
  return input;
}

/// Items of a list that may be absent.
template <class Read>
auto read_list(Fields& fields, std::string_view key, const Read& read) {
  std::vector<decltype(read(fields))> items;
  if (!fields.has(key)) return items;
  for (const base::Value& item : fields.list(key)) items.push_back(read(fields.view(item, key)));
  return items;
}

/// What a data sheet or a page of figures does not have.
void read_measured(Fields& fields, Profile& profile) {
  profile.gemm_tile = fields.number("gemm_tile_scale", 1e-3, 4, profile.gemm_tile);
  profile.kernels = read_list(fields, "kernels", read_kernel);
  if (fields.has("to_device")) profile.to_device = read_copy(fields.map("to_device"));
  if (fields.has("to_host")) profile.to_host = read_copy(fields.map("to_host"));
  if (fields.has("overlap_slowdown"))
    profile.overlap_slowdown = fields.number("overlap_slowdown", 1, 100);
  profile.collectives = read_list(fields, "collectives", read_collective);
  profile.power = read_list(fields, "power", [](Fields draw) {
    PowerDraw read{draw.text("work"), base::Watts(draw.number("power_W", 0, 1e6))};
    draw.done();
    return read;
  });
  profile.inputs = read_list(fields, "inputs", read_input);
}

}  // namespace

Profile read_profile(const base::Document& document) {
  Fields fields(document, document.root);
  const std::string schema = fields.text("schema");
  if (schema != kProfileSchema) {
    fields.fail("schema", "is " + base::quote(schema),
                std::string("this version reads \"") + kProfileSchema + "\"");
  }
  Profile profile;
  profile.name = fields.text("name");
  profile.device = fields.text("device");
  profile.source = fields.text("source");
  Fields gemm = fields.map("gemm");
  for (const auto& [name, precision] : kPrecisions) {
    if (gemm.has(name))
      profile.gemm[static_cast<std::size_t>(precision)] = read_gemm(gemm.map(name));
  }
  gemm.done();
  profile.overlap_loss = fields.number("overlap_loss_fraction", 0, 1, profile.overlap_loss);
  profile.memory_efficiency =
      fields.number("memory_efficiency_fraction", 0.05, 1, profile.memory_efficiency);
  profile.batched_gemm = fields.number("batched_gemm_fraction", 0.01, 1, profile.batched_gemm);
  profile.unaligned_gemm =
      fields.number("unaligned_gemm_fraction", 0.001, 1, profile.unaligned_gemm);
  profile.launch = base::Seconds(fields.number("launch_us", 0, 1e4) * kMicro);
  profile.residual = fields.number("residual_fraction", 0, 1, profile.residual);
  if (fields.has("attention")) {
    for (const base::Value& item : fields.list("attention")) {
      profile.attention.push_back(read_curve(fields.view(item, "attention")));
    }
  }
  read_measured(fields, profile);
  fields.done();
  return profile;
}

Profile read_profile(const std::string& name) {
  return read_profile(base::read_document(names_file(name) ? name : spec_path("profile", name)));
}

bool has_attention(const Profile& profile, std::string_view kernel, Precision precision) {
  return std::any_of(profile.attention.begin(), profile.attention.end(),
                     [&](const AttentionCurve& c) {
                       return c.kernel == kernel && c.causal && c.speaks_for(precision);
                     });
}

std::string attention_kernels(const Profile& profile) {
  std::vector<std::string> names{"eager", "megatron-fused"};
  for (const AttentionCurve& curve : profile.attention) {
    if (std::find(names.begin(), names.end(), curve.kernel) == names.end()) {
      names.push_back(curve.kernel);
    }
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace paceline::models
