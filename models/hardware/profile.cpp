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
  fields.text("source");
  fields.done();
  return law;
}

AttentionCurve read_curve(Fields fields) {
  AttentionCurve curve;
  curve.kernel = fields.text("kernel");
  curve.head_dim = static_cast<int>(fields.integer("head_dim", 1, 1024));
  curve.causal = fields.flag("causal");
  fields.text("source");
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
  fields.done();
  return profile;
}

Profile read_profile(const std::string& name) {
  return read_profile(base::read_document(spec_path("profile", name)));
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
