// SPDX-License-Identifier: Apache-2.0
// Profiles fitted to made-up samples recover the constants the samples were made with, also where
// some of them are wrong.
#include "calibrate/calibrate.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"
#include "base/rng.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"
#include "models/workload/kernel_calls.hpp"

using namespace paceline;
using namespace paceline::calibrate;
using base::Sample;
using models::Precision;

namespace {

/// Times with 2 % of noise; of ten, one is two to six times too long where `wrong`.
class Maker {
 public:
  Maker(std::uint64_t seed, bool wrong) : rng_(seed), wrong_(wrong) {}

  Measured sample(const std::string& kernel, const std::string& pass, const std::string& type,
                  base::Extents extents, double seconds) {
    Sample s;
    s.version = "0.1.0";
    s.machine = {"cuda", "NVIDIA H100", "node", base::Bytes(8e10), 132};
    s.time = "2026-01-31T12:00:00Z";
    s.kernel = kernel;
    s.pass = pass;
    s.type = type;
    s.extents = std::move(extents);
    const double noise = std::exp(0.02 * base::standard_normal(rng_));
    const double disturbed = wrong_ && ++count_ % 10 == 7 ? rng_.uniform(2, 6) : 1;
    s.median = s.min = base::Seconds(seconds * noise * disturbed);
    return {s, "s.jsonl:" + std::to_string(count_ + 1) + ":1"};
  }

 private:
  base::Rng rng_;
  bool wrong_;
  int count_ = 0;
};

/// Products of useful shapes and all passes, timed by the law with the constants of `truth`.
std::vector<Measured> products(Maker& maker, const GemmFit& truth, const GemmSettings& settings,
                               const std::vector<std::int64_t>& edges,
                               const std::vector<std::string>& types) {
  const models::KernelModel model = gemm_model(truth, settings);
  std::vector<Measured> samples;
  for (const std::string& type : types)
    for (const char* pass : {"forward", "input-gradient", "weight-gradient"})
      for (const std::int64_t m : edges)
        for (const std::int64_t n : edges)
          for (const std::int64_t k : edges) {
            if (m < k / 8 || n < k / 8) continue;
            const base::Extents extents{{"m", m}, {"n", n}, {"k", k}};
            const auto op =
                models::matrix_op("gemm", pass, *models::precision_named(type), extents);
            samples.push_back(
                maker.sample("gemm", pass, type, extents, models::kernel_time(model, *op).value));
          }
  return samples;
}

GemmFit device_truth() {
  GemmFit truth;
  truth.law[static_cast<std::size_t>(Precision::Bf16)] = {679e12, 3.2e-6, 0};
  truth.law[static_cast<std::size_t>(Precision::Fp8)] = {1287e12, 5.3e-6, 0};
  truth.loss = 0.3;
  return truth;
}
constexpr GemmSettings kDevice{132, 2.88e12, 3e-6, true};

}  // namespace

TEST_CASE("the GEMM law of a device is recovered", "[calibrate]") {
  const bool wrong = GENERATE(false, true);
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(wrong, seed);
  Maker maker(seed, wrong);
  const GemmFit truth = device_truth();
  const GemmFit fit = fit_gemm(
      products(maker, truth, kDevice, {512, 1024, 4096, 8192}, {"bf16", "fp8-e4m3"}), kDevice);
  for (const Precision p : {Precision::Bf16, Precision::Fp8}) {
    const auto i = static_cast<std::size_t>(p);
    CHECK(fit.law[i].rate == Approx(truth.law[i].rate).epsilon(0.02));
    CHECK(fit.law[i].wave == Approx(truth.law[i].wave).epsilon(0.1));
  }
  CHECK(fit.law[static_cast<std::size_t>(Precision::Fp32)].rate == 0);
  CHECK(fit.loss == Approx(truth.loss).margin(0.05));
  CHECK(fit.tile == 1);
  REQUIRE(fit.reports.size() == 2);
  for (const CurveReport& report : fit.reports) {
    CHECK(report.passed());
    CHECK(report.median < 0.03);
    CHECK(*report.held_median < 0.03);
    CHECK((report.outliers > 0) == wrong);
  }
}

TEST_CASE("the GEMM law of a processor is recovered, its small tiles too", "[calibrate]") {
  const bool wrong = GENERATE(false, true);
  CAPTURE(wrong);
  GemmFit truth;
  truth.law[static_cast<std::size_t>(Precision::Fp32)] = {93e9, 3e-7, 0};
  truth.loss = 0.4;
  truth.tile = 0.125;
  const GemmSettings settings{1, 9e9, 0, false};
  Maker maker(4, wrong);
  const GemmFit fit =
      fit_gemm(products(maker, truth, settings, {24, 64, 100, 256, 512}, {"fp32"}), settings);
  CHECK(fit.tile == truth.tile);
  CHECK(fit.law[0].rate == Approx(93e9).epsilon(0.03));
  CHECK(fit.loss == Approx(0.4).margin(0.1));
  REQUIRE(fit.reports.size() == 1);
  CHECK(fit.reports[0].passed());
}

TEST_CASE("unaligned and batched products give their fractions", "[calibrate]") {
  GemmFit truth = device_truth();
  truth.unaligned = 0.083;
  truth.batched = 0.77;
  const models::KernelModel model = gemm_model(truth, kDevice);
  Maker maker(5, true);
  auto samples = products(maker, truth, kDevice, {1024, 2048, 4096}, {"bf16"});
  const auto add = [&](const char* kernel, base::Extents extents) {
    const auto op = models::matrix_op(kernel, "forward", Precision::Bf16, extents);
    samples.push_back(maker.sample(kernel, "forward", "bf16", std::move(extents),
                                   models::kernel_time(model, *op).value));
  };
  for (const std::int64_t n : {513, 1025, 2049, 4097, 1027, 3001, 2333}) {
    add("gemm", {{"m", 2048}, {"n", n}, {"k", 2048}});
    add("batched-gemm", {{"batch", 64}, {"m", 1024}, {"n", 8 * (n / 8)}, {"k", 128}});
  }
  const GemmFit fit = fit_gemm(samples, kDevice);
  REQUIRE(fit.unaligned);
  REQUIRE(fit.batched);
  CHECK(*fit.unaligned == Approx(0.083).epsilon(0.05));
  CHECK(*fit.batched == Approx(0.77).epsilon(0.05));
}

TEST_CASE("lines recover latency and bandwidth", "[calibrate]") {
  const bool wrong = GENERATE(false, true);
  CAPTURE(wrong);
  Maker maker(6, wrong);
  std::vector<Measured> samples;
  for (std::int64_t bytes = 1024; bytes <= (std::int64_t{1} << 30); bytes *= 2) {
    const auto x = static_cast<double>(bytes);
    samples.push_back(
        maker.sample("copy-h2d", "forward", "u8", {{"bytes", bytes}}, 8e-6 + x / 55e9));
    samples.push_back(
        maker.sample("copy-d2h", "forward", "u8", {{"bytes", bytes}}, 5e-6 + x / 50e9));
    Measured triad = maker.sample("triad", "forward", "fp32", {{"count", bytes}},
                                  4e-6 + 12 * x / (x < 1e8 ? 9e12 : 2.9e12));
    triad.sample.bytes = base::Bytes(12 * x);
    samples.push_back(triad);
    samples.push_back(maker.sample("launch", "forward", "fp32", {{"count", 1}}, 2.5e-6));
  }
  const CopyFit copies = fit_copies(samples);
  REQUIRE(copies.to_device);
  CHECK(copies.to_device->rate.value == Approx(55e9).epsilon(0.02));
  CHECK(copies.to_device->latency.value == Approx(8e-6).epsilon(0.03));
  REQUIRE(copies.to_host);
  CHECK(copies.to_host->rate.value == Approx(50e9).epsilon(0.02));
  const RoofFit roof = fit_roof(samples);
  REQUIRE(roof.rate);
  CHECK(*roof.rate == Approx(2.9e12).epsilon(0.05));  // not the rate out of a cache
  CHECK(*fit_launch(samples).seconds == Approx(2.5e-6).epsilon(0.02));
}

TEST_CASE("collectives: the curve, and latency and bandwidth by range of sizes", "[calibrate]") {
  const bool wrong = GENERATE(false, true);
  CAPTURE(wrong);
  const auto truth = [](double bytes) {
    return bytes < 1e6 ? 20e-6 + bytes / 20e9 : 45e-6 + bytes / 180e9;
  };
  Maker maker(7, wrong);
  std::vector<Measured> samples;
  for (std::int64_t bytes = 256; bytes <= (std::int64_t{1} << 32); bytes *= 2)
    samples.push_back(maker.sample("all_reduce", "forward", "fp32",
                                   {{"bytes", bytes}, {"ranks", 8}},
                                   truth(static_cast<double>(bytes))));
  const CollectiveFit fit = fit_collectives(samples, {});
  REQUIRE(fit.curves.size() == 1);
  const models::MeasuredCollective& c = fit.curves[0];
  CHECK(c.ranks == 8);
  CHECK(c.nodes == 1);
  REQUIRE(!c.regimes.empty());
  CHECK(c.regimes.back().rate.value == Approx(180e9).epsilon(0.03));
  CHECK(c.regimes.front().latency.value == Approx(20e-6).epsilon(0.05));
  const models::MonotoneCurve curve(c.points);
  for (double bytes = 300; bytes < 4e9; bytes *= 3)
    CHECK(curve.at(bytes) == Approx(truth(bytes)).epsilon(0.12));
  CHECK(fit.reports[0].passed());
}

TEST_CASE("attention: rates over the sequence, by kernel, type and head size", "[calibrate]") {
  const bool wrong = GENERATE(false, true);
  CAPTURE(wrong);
  Maker maker(8, wrong);
  std::vector<Measured> samples;
  const auto rate = [](double s) { return 500e12 * s / (s + 600); };
  for (const std::int64_t s : {512, 1024, 2048, 4096, 8192, 16384})
    for (const std::int64_t batch : {1, 2, 4, 8})
      for (const char* pass : {"forward", "backward"}) {
        Measured m = maker.sample("attention", pass, "bf16",
                                  {{"batch", batch},
                                   {"heads", 32},
                                   {"kv_heads", 8},
                                   {"queries", s},
                                   {"keys", s},
                                   {"head_dim", 128},
                                   {"causal", 1}},
                                  1);
        const double forward = 2.0 * static_cast<double>(batch * 32 * s * s * 128);
        CHECK(attention_flops(m.sample) ==
              Approx(std::string_view(pass) == "forward" ? forward : 2.5 * forward));
        const double slow = std::string_view(pass) == "backward" ? 0.8 : 1;
        m.sample.median =
            m.sample.median *
            (attention_flops(m.sample) / (slow * rate(static_cast<double>(s))) + 3e-6);
        samples.push_back(m);
        m.sample.kernel = "attention-cudnn";  // a third faster
        m.sample.median = (m.sample.median - base::Seconds(3e-6)) * 0.75 + base::Seconds(3e-6);
        samples.push_back(m);
      }
  const AttentionFit fit = fit_attention(samples, 3e-6);
  REQUIRE(fit.curves.size() == 2);
  CHECK(fit.curves[0].kernel == "paceline");
  CHECK(fit.curves[1].kernel == "cudnn-9");
  for (std::size_t i = 0; i < 2; ++i) {
    const double faster = i == 0 ? 1 : 1 / 0.75;
    CHECK(fit.curves[i].head_dim == 128);
    CHECK(fit.curves[i].precision == Precision::Bf16);
    REQUIRE(fit.curves[i].points.size() == 6);
    for (const auto& p : fit.curves[i].points) {
      CHECK(p.forward.value == Approx(faster * rate(p.sequence)).epsilon(0.05));
      CHECK(p.backward.value == Approx(faster * 0.8 * rate(p.sequence)).epsilon(0.05));
    }
    CHECK(fit.reports[i].passed());
  }
}

TEST_CASE("elementwise kernels: a curve for each kernel, pass, type and block", "[calibrate]") {
  const bool wrong = GENERATE(false, true);
  CAPTURE(wrong);
  Maker maker(9, wrong);
  std::vector<Measured> samples;
  const auto truth = [](double elements) { return 3e-6 + 4 * elements / 2.5e12; };
  for (std::int64_t rows = 1; rows <= 65536; rows *= 2)
    samples.push_back(maker.sample("rmsnorm", "forward", "bf16",
                                   {{"rows", rows}, {"columns", 4096}},
                                   truth(4096.0 * static_cast<double>(rows))));
  samples.push_back(maker.sample("adamw", "step", "fp32", {{"parameters", 1 << 20}}, 1e-3));
  const KernelFit fit = fit_kernels(samples);
  REQUIRE(fit.curves.size() == 2);
  const models::KernelCurve* curve =
      models::find_curve(fit.curves, "rmsnorm", "forward", "bf16", {});
  REQUIRE(curve != nullptr);
  for (double rows = 1; rows < 60000; rows *= 2.5) {
    const double time = models::curve_time(*curve, 4096 * rows, base::Seconds(3e-6)).value;
    CHECK(time == Approx(truth(4096 * rows)).epsilon(0.12));
  }
}

TEST_CASE("overlap: what a call takes beside a collective over its time alone", "[calibrate]") {
  Maker maker(10, false);
  std::vector<Measured> samples;
  for (const std::int64_t m : {512, 1024, 2048, 4096, 8192}) {
    const base::Extents extents{{"m", m}, {"n", 4096}, {"k", 4096}};
    const double alone = 1e-9 * static_cast<double>(m);
    samples.push_back(maker.sample("gemm", "forward", "bf16", extents, alone));
    samples.push_back(maker.sample("gemm", "forward", "bf16", extents, 1.19 * alone));
    samples.back().sample.beside = "all_reduce";
  }
  CHECK(*fit_overlap(samples).slowdown == Approx(1.19).epsilon(0.03));
  samples.erase(samples.begin());
  samples.resize(1);
  CHECK(!fit_overlap(samples).slowdown);
}

TEST_CASE("a law that does not hold is refused", "[calibrate]") {
  Maker maker(11, false);
  GemmFit truth = device_truth();
  auto samples = products(maker, truth, kDevice, {512, 1024, 4096}, {"bf16"});
  base::Rng rng(12);
  for (Measured& m : samples) m.sample.median = m.sample.median * std::exp(rng.uniform(-2, 2));
  const GemmFit fit = fit_gemm(samples, kDevice);
  REQUIRE(fit.reports.size() == 1);
  CHECK(!fit.reports[0].passed());
  CHECK_THAT(report_table(fit.reports), Catch::Matchers::Contains("REFUSED gemm bf16"));
}

TEST_CASE("a whole calibration is a profile that reads back and times as the samples",
          "[calibrate]") {
  Maker maker(13, true);
  GemmFit truth = device_truth();
  Inputs inputs;
  inputs.machine = {"cuda", "NVIDIA H100", "node", base::Bytes(8e10), 132};
  inputs.samples = products(maker, truth, kDevice, {512, 1024, 4096, 8192}, {"bf16", "fp8-e4m3"});
  inputs.files.push_back(
      {"s.jsonl", "0123456789abcdef", 10, 10, "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"});
  CalibrateOptions options;
  options.name = "mine";
  options.device = models::read_device("h100-sxm");
  const Calibration result = calibrate::calibrate(inputs, options);
  CHECK(result.accepted());
  CHECK(!result.own_device);
  const models::Profile back =
      models::read_profile(base::parse_json(result.profile_text, "p.json"));
  CHECK(models::profile_json(back) == result.profile_text);
  CHECK(back.device == "h100-sxm");
  CHECK(back.gemm[2].sustained == Approx(679e12 / 989.4e12).epsilon(0.03));
  CHECK_THAT(back.gemm[0].source, Catch::Matchers::Contains("assumed as"));
  CHECK(back.residual < 0.1);
  REQUIRE(back.inputs.size() == 1);
  CHECK(back.inputs[0].hash == "0123456789abcdef");
  // The same samples give the same bytes: nothing of it is the clock's.
  CHECK(calibrate::calibrate(inputs, options).profile_text == result.profile_text);
}

TEST_CASE("a band is no narrower than that of a profile whose products stay", "[calibrate]") {
  Maker maker(14, false);
  Inputs inputs;
  inputs.machine = {"cuda", "NVIDIA H100 80GB HBM3", "node", base::Bytes(8e10), 132};
  for (double size = 1 << 16; size < 1 << 28; size *= 4) {
    inputs.samples.push_back(maker.sample(
        "rmsnorm", "forward", "bf16",
        {{"rows", static_cast<std::int64_t>(size / 4096)}, {"columns", 4096}}, 1e-6 + size / 1e12));
  }
  CalibrateOptions options{
      "mine", models::read_device("h100-sxm"), "", models::read_profile("h100-sxm"), {}};
  options.base->residual = 0.2;
  const Calibration result = calibrate::calibrate(inputs, options);
  CHECK(result.accepted());
  CHECK(result.profile.residual == 0.2);
  CHECK(result.notes.back() == "launch was not measured: 3.00 us; that of 'h100-sxm' stays");
}
