// SPDX-License-Identifier: Apache-2.0
#include "models/cost/kernel.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/message.hpp"
#include "base/rng.hpp"
#include "tests/scenario_of.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

constexpr double kUnits = 108;
constexpr double kRate = 250e12;  // of the whole device

/// Round numbers: no fixed time per wave, nothing but the larger of compute and memory.
KernelModel plain_model() {
  KernelModel k;
  for (auto& matrix : k.matrix) matrix.rate = kRate / kUnits;
  k.multiprocessors = kUnits;
  k.memory = 1.6e12;
  k.stream = 1.6e12;
  return k;
}

double gemm(const KernelModel& k, double m, double n, double depth, double count = 1) {
  return gemm_time(k, Precision::Bf16, m, n, depth, count).value;
}

/// The profile must outlive the answer: attention curves are pointed to.
KernelModel model_of(const Profile& profile, std::string_view attention, int head_dim = 128) {
  Model model;
  model.kinds.resize(1);
  model.kinds[0].attention.head_dim = head_dim;
  return kernel_model(read_device(profile.device), profile, Stack{}, attention, model);
}

}  // namespace

TEST_CASE("a GEMM takes longer with each of m, n, k and the number of products", "[kernel]") {
  const Profile profile = read_profile("a100-80gb-sxm");
  const KernelModel k = model_of(profile, "eager");
  base::Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    const auto size = [&] { return 8.0 * static_cast<double>(1 + rng.below(1024)); };
    const double m = size(), n = size(), depth = size(),
                 more = 8.0 * static_cast<double>(rng.below(64));
    const double count = static_cast<double>(1 + rng.below(64));
    CAPTURE(m, n, depth, more, count);
    const double time = gemm(k, m, n, depth, count);
    REQUIRE(time > 0);
    CHECK(gemm(k, m + more, n, depth, count) >= time);
    CHECK(gemm(k, m, n + more, depth, count) >= time);
    CHECK(gemm(k, m, n, depth + more, count) >= time);
    CHECK(gemm(k, m, n, depth, count + 1) >= time);
  }
}

TEST_CASE("no GEMM beats the sustained rate or the memory bandwidth", "[kernel]") {
  const KernelModel k = plain_model();
  base::Rng rng(8);
  for (int i = 0; i < 2000; ++i) {
    const auto size = [&] { return static_cast<double>(1 + rng.below(20000)); };
    const double m = size(), n = size(), depth = size();
    CAPTURE(m, n, depth);
    const double time = gemm(k, m, n, depth);
    CHECK(time >= 2 * m * n * depth / kRate * (1 - 1e-12));
    CHECK(time >= 2 * (m * depth + depth * n + m * n) / k.memory * (1 - 1e-12));
  }
}

TEST_CASE("a full wave of the largest tiles runs at the sustained rate", "[kernel]") {
  const KernelModel k = plain_model();
  const double depth = 8192;
  const double wave = 2 * 128.0 * 256.0 * depth / (kRate / kUnits);
  CHECK(gemm(k, 128 * kUnits, 256, depth) == Approx(wave));
  CHECK(gemm(k, 128 * kUnits, 512, depth) == Approx(2 * wave));
  // One tile more: the partial wave is split along k, at 1.05 of the exact share.
  CHECK(gemm(k, 128 * (kUnits + 1), 256, depth) == Approx(wave * 1.05 * (kUnits + 1) / kUnits));
  // A single tile keeps one unit busy for a whole wave of the tile that suits it best.
  CHECK(gemm(k, 64, 64, depth) == Approx(2 * 64.0 * 64.0 * depth / (kRate / kUnits) / 0.58));
}

TEST_CASE("a GEMM of few rows costs its memory traffic", "[kernel]") {
  const KernelModel k = plain_model();
  const double bytes = 2 * (8 * 8192.0 + 8192.0 * 8192.0 + 8 * 8192.0);
  CHECK(gemm(k, 8, 8192, 8192) >= bytes / k.memory);
  KernelModel fast = k;
  for (auto& matrix : fast.matrix) matrix.rate *= 1e6;
  CHECK(gemm(fast, 8, 8192, 8192) == Approx(bytes / k.memory));
}

TEST_CASE("the parts of a GEMM's time are those its comment names", "[kernel]") {
  KernelModel k = plain_model();
  const double m = 128 * kUnits, n = 256, depth = 1024;
  const double compute = gemm(k, m, n, depth);
  const double memory = 2 * (m * depth + depth * n + m * n) / k.memory;
  REQUIRE(compute > memory);
  k.launch = 1e-6;
  CHECK(gemm(k, m, n, depth) == Approx(compute + 1e-6));
  k.launch = 0;
  k.overlap_loss = 0.25;
  CHECK(gemm(k, m, n, depth) == Approx(compute + 0.25 * memory));
  k.overlap_loss = 0;
  for (auto& matrix : k.matrix) matrix.prologue_k = 100;
  CHECK(gemm(k, m, n, depth) == Approx(compute * (1024.0 + 100) / 1024));
}

TEST_CASE("a dimension that is no multiple of 8 costs the unaligned factor", "[kernel]") {
  KernelModel k = plain_model();
  k.unaligned = 0.1;
  const double aligned = gemm(k, 4096, 4096, 4096);
  CHECK(gemm(k, 4096, 4096, 4095) == Approx(10 * aligned * 4095 / 4096));
  CHECK(gemm(k, 4095, 4096, 4096) == Approx(10 * aligned));  // the same tiles
  CHECK(gemm(k, 4096, 4095, 4096) == Approx(10 * aligned));
}

TEST_CASE("batched products share one launch and run at the batched rate", "[kernel]") {
  KernelModel k = plain_model();
  k.batched = 0.5;
  CHECK(gemm(k, 128, 256, 4096, 4 * kUnits) == Approx(2 * gemm(k, 128 * kUnits, 256, 4096) * 4));
}

TEST_CASE("gradient accumulation in the epilogue moves eight bytes an element", "[kernel]") {
  KernelModel k = plain_model();
  for (auto& matrix : k.matrix) matrix.rate *= 1e9;
  const double m = 4096, n = 1024, depth = 512;
  CHECK(gemm_time(k, Precision::Bf16, m, n, depth, 1, true).value ==
        Approx((2 * (m * depth + depth * n) + 8 * m * n) / k.memory));
  // FP8 operands are one byte, what they add up to is 16 bit.
  CHECK(gemm_time(k, Precision::Fp8, m, n, depth).value ==
        Approx((m * depth + depth * n + 2 * m * n) / k.memory));
}

TEST_CASE("every attention kernel of every profile meets its own published points", "[kernel]") {
  for (const std::string& name : spec_names("profile")) {
    const Profile profile = read_profile(name);
    for (const AttentionCurve& curve : profile.attention) {
      if (!curve.causal) continue;
      KernelModel k = model_of(profile, curve.kernel, curve.head_dim);
      k.launch = 0;
      for (const AttentionPoint& p : curve.points) {
        CAPTURE(name, curve.kernel, curve.head_dim, p.sequence);
        CHECK(attention_time(k, 1e12, p.sequence, false).value ==
              Approx(1e12 / p.forward.value).epsilon(1e-12));
        CHECK(attention_time(k, 1e12, p.sequence, true).value ==
              Approx(1e12 / p.backward.value).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("attention rates are log-linear between points and fall below the first", "[kernel]") {
  AttentionCurve curve;
  curve.points = {{1024, base::FlopsPerSecond(100e12), base::FlopsPerSecond(80e12)},
                  {4096, base::FlopsPerSecond(200e12), base::FlopsPerSecond(160e12)}};
  KernelModel k = plain_model();
  k.attention = &curve;
  const auto rate = [&](double sequence, bool backward) {
    return 1e12 / attention_time(k, 1e12, sequence, backward).value;
  };
  CHECK(rate(2048, false) == Approx(150e12));
  CHECK(rate(2048, true) == Approx(120e12));
  CHECK(rate(1e6, false) == Approx(200e12));
  CHECK(rate(350, false) == Approx(100e12 * 0.5 * (1024 + 350) / 1024));
  CHECK(rate(1, false) > 0);
  k.attention_factor = 0.5;
  CHECK(rate(4096, false) == Approx(100e12));
  k.launch = 1e-3;
  CHECK(attention_time(k, 0, 4096, false).value == Approx(1e-3));
}

TEST_CASE("more attention work never takes less time", "[kernel]") {
  const Profile profile = read_profile("h100-sxm");
  const KernelModel k = model_of(profile, "flash-2");
  double last = 0;
  for (double s = 16; s < 1e6; s *= 1.1) {
    const double time = attention_time(k, 2 * s * s * 128, s, false).value;
    CHECK(time > last);
    last = time;
  }
}

TEST_CASE("the curve of the nearest head dimension is taken", "[kernel]") {
  const Profile profile = read_profile("a100-80gb-sxm");
  for (const int head_dim : {32, 64, 80, 112, 128, 256}) {
    const KernelModel k = model_of(profile, "flash-2", head_dim);
    REQUIRE(k.attention != nullptr);
    for (const AttentionCurve& other : profile.attention) {
      if (other.kernel != "flash-2" || !other.causal) continue;
      CHECK(std::abs(k.attention->head_dim - head_dim) <= std::abs(other.head_dim - head_dim));
    }
  }
}

TEST_CASE("an attention kernel the profile lacks is refused with those it has", "[kernel]") {
  const Profile profile = read_profile("a100-80gb-sxm");
  CHECK(model_of(profile, "eager").attention == nullptr);
  CHECK(model_of(profile, "megatron-fused").attention == nullptr);
  for (const char* name : {"flash", "flash-9", "", "Flash-2", "eager "}) {
    const std::string message = tests::message_of([&] { model_of(profile, name); });
    INFO(message);
    CHECK(message.find(base::quote(name)) != std::string::npos);
    CHECK(message.find("one of eager, megatron-fused, ") != std::string::npos);
    CHECK(message.find("flash-2") != std::string::npos);
    CHECK(message.find("a100-80gb-sxm") != std::string::npos);
  }
}

TEST_CASE("elementwise kernels cost their bytes over the stream bandwidth", "[kernel]") {
  KernelModel k = plain_model();
  k.elementwise = 1.5;
  k.launch = 2e-6;
  Op op;
  op.bytes = 1.6e9;
  CHECK(kernel_time(k, op).value == Approx(1.5e-3 + 2e-6));
  op.exact = true;  // casts, the loss, accumulation: not what the stack's factor is about
  CHECK(kernel_time(k, op).value == Approx(1e-3 + 2e-6));
  op.kind = OpKind::Collective;
  CHECK(kernel_time(k, op).value == 0);
}

TEST_CASE("a stack scales the sustained rate, a profile's wave time becomes extra k", "[kernel]") {
  const Device device = read_device("a100-80gb-sxm");
  const Profile profile = read_profile("a100-80gb-sxm");
  Stack stack;
  stack.sustained = 0.9;
  const KernelModel k = kernel_model(device, profile, stack, "eager", Model{});
  const auto p = static_cast<std::size_t>(Precision::Bf16);
  const double sustained = device.matrix_rate[p].value * profile.gemm[p].sustained * 0.9;
  CHECK(k.matrix[p].rate * k.multiprocessors == Approx(sustained));
  const double extra = 2 * 128.0 * 256.0 * k.matrix[p].prologue_k / k.matrix[p].rate;
  CHECK(extra == Approx(profile.gemm[p].wave_overhead.value));
}

TEST_CASE("what a device cannot compute is refused by name before any kernel is asked",
          "[kernel]") {
  const std::string fp8 = tests::message_of([] { tests::small_gpt("precision: fp8"); });
  CHECK(fp8.find(
            "test.yaml:1:12: precision: a100-80gb-sxm has no fp8 units; one of fp32, fp16, bf16") ==
        0);
  const std::string bf16 =
      tests::message_of([] { tests::small_gpt("{cluster: {preset: dgx1-v100, nodes: 1}}"); });
  CHECK(bf16.find("has no bf16 units; one of fp32, fp16") != std::string::npos);
}

TEST_CASE("every precision a device supports gives finite times with its profile", "[kernel]") {
  for (const std::string& name : spec_names("device")) {
    const Device device = read_device(name);
    const KernelModel k =
        kernel_model(device, read_profile(device.profile), Stack{}, "eager", Model{});
    for (const auto& [text, precision] : kPrecisions) {
      CAPTURE(name, text);
      if (device.matrix_rate[static_cast<std::size_t>(precision)].value <= 0) continue;
      const double time = gemm_time(k, precision, 4096, 4096, 4096).value;
      CHECK(std::isfinite(time));
      CHECK(time > 2 * std::pow(4096.0, 3) /
                       device.matrix_rate[static_cast<std::size_t>(precision)].value);
    }
    // What surrounds FP8 layers (attention, the head) is computed in bf16.
    if (device.matrix_rate[static_cast<std::size_t>(Precision::Fp8)].value > 0) {
      CHECK(device.matrix_rate[static_cast<std::size_t>(Precision::Bf16)].value > 0);
    }
  }
}
