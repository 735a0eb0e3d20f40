// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"
#include "models/hardware/profile.hpp"

namespace paceline::models {
namespace {

using base::JsonWriter;

// Units of the file. Products and quotients by them round, so a value is written in the form that
// reads back as near as a double can.
constexpr double kTera = 1e12, kGiga = 1e9, kMicro = 1e-6;

void write_gemm(JsonWriter& json, const Profile& profile) {
  json.key("gemm").begin_object();
  for (const auto& [name, precision] : kPrecisions) {
    const GemmLaw& law = profile.gemm[static_cast<std::size_t>(precision)];
    if (law.source.empty()) continue;
    json.key(name).begin_object().field("sustained_fraction", law.sustained);
    json.field("wave_overhead_us", law.wave_overhead.value / kMicro);
    json.field("source", std::string_view(law.source)).end_object();
  }
  json.end_object();
}

void write_attention(JsonWriter& json, const Profile& profile) {
  json.key("attention").begin_array();
  for (const AttentionCurve& curve : profile.attention) {
    json.begin_object().field("kernel", std::string_view(curve.kernel));
    json.field("head_dim", curve.head_dim).field("causal", curve.causal);
    if (curve.precision) json.field("precision", to_text(*curve.precision));
    json.field("source", std::string_view(curve.source)).key("points").begin_array();
    for (const AttentionPoint& p : curve.points) {
      json.begin_object().field("sequence", p.sequence);
      json.field("forward_TFLOPs", p.forward.value / kTera);
      json.field("backward_TFLOPs", p.backward.value / kTera).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_points(JsonWriter& json, std::string_view key, const std::vector<CurvePoint>& points) {
  json.key(key).begin_array();
  for (const CurvePoint& p : points)
    json.begin_array(true).value(p.x).value(p.y / kMicro).end_array();
  json.end_array();
}

void write_kernels(JsonWriter& json, const Profile& profile) {
  json.key("kernels").begin_array();
  for (const KernelCurve& curve : profile.kernels) {
    json.begin_object().field("kernel", std::string_view(curve.kernel));
    json.field("pass", std::string_view(curve.pass)).field("type", std::string_view(curve.type));
    if (!curve.fixed.empty()) {
      json.key("extents").begin_object();
      for (const auto& [name, value] : curve.fixed) json.field(name, value);
      json.end_object();
    }
    write_points(json, "points_us", curve.points);
    json.end_object();
  }
  json.end_array();
}

void write_copy(JsonWriter& json, std::string_view key, const std::optional<CopyLaw>& law) {
  if (!law) return;
  json.key(key).begin_object().field("latency_us", law->latency.value / kMicro);
  json.field("bandwidth_GBps", law->rate.value / kGiga).end_object();
}

void write_collectives(JsonWriter& json, const Profile& profile) {
  json.key("collectives").begin_array();
  for (const MeasuredCollective& c : profile.collectives) {
    json.begin_object().field("op", to_text(c.op)).field("ranks", c.ranks);
    json.field("nodes", c.nodes).field("source", std::string_view(c.source));
    write_points(json, "points_B_us", c.points);
    json.key("regimes").begin_array();
    for (const MeasuredCollective::Regime& r : c.regimes) {
      json.begin_object().field("from_bytes", r.from.value).field("to_bytes", r.to.value);
      json.field("latency_us", r.latency.value / kMicro);
      json.field("bandwidth_GBps", r.rate.value / kGiga).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_inputs(JsonWriter& json, const Profile& profile) {
  json.key("inputs").begin_array();
  for (const ProfileInput& input : profile.inputs) {
    json.begin_object().field("file", std::string_view(input.file));
    json.field("hash", std::string_view(input.hash)).field("samples", input.samples);
    json.field("used", input.used);
    if (!input.first.empty()) json.field("first", std::string_view(input.first));
    if (!input.last.empty()) json.field("last", std::string_view(input.last));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string profile_json(const Profile& profile) {
  JsonWriter json;
  json.begin_object().field("schema", kProfileSchema);
  json.field("name", std::string_view(profile.name));
  json.field("device", std::string_view(profile.device));
  json.field("source", std::string_view(profile.source));
  write_gemm(json, profile);
  json.field("overlap_loss_fraction", profile.overlap_loss);
  json.field("memory_efficiency_fraction", profile.memory_efficiency);
  json.field("batched_gemm_fraction", profile.batched_gemm);
  json.field("unaligned_gemm_fraction", profile.unaligned_gemm);
  if (profile.gemm_tile != 1) json.field("gemm_tile_scale", profile.gemm_tile);
  json.field("launch_us", profile.launch.value / kMicro);
  json.field("residual_fraction", profile.residual);
  if (!profile.attention.empty()) write_attention(json, profile);
  if (!profile.kernels.empty()) write_kernels(json, profile);
  write_copy(json, "to_device", profile.to_device);
  write_copy(json, "to_host", profile.to_host);
  if (profile.overlap_slowdown) json.field("overlap_slowdown", *profile.overlap_slowdown);
  if (!profile.collectives.empty()) write_collectives(json, profile);
  if (!profile.power.empty()) {
    json.key("power").begin_array();
    for (const PowerDraw& draw : profile.power)
      json.begin_object()
          .field("work", std::string_view(draw.work))
          .field("power_W", draw.power.value)
          .end_object();
    json.end_array();
  }
  if (!profile.inputs.empty()) write_inputs(json, profile);
  json.end_object();
  return json.finish();
}

}  // namespace paceline::models
