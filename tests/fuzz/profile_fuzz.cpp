// SPDX-License-Identifier: Apache-2.0
// Any bytes as a profile: what is accepted times every kernel with finite numbers.
#include <cmath>
#include <cstdint>

#include "models/cost/kernel.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace paceline;

void check_profile(const models::Profile& profile) {
  static const models::Device device = models::read_device("h100-sxm");
  const auto check = [](base::Seconds time) {
    PACELINE_CHECK(std::isfinite(time.value) && time.value >= 0);
  };
  PACELINE_CHECK(profile.residual >= 0 && profile.residual <= 1);
  models::KernelModel kernels =
      models::kernel_model(device, profile, models::Stack{}, "eager", models::Model{});
  for (const auto& [name, precision] : models::kPrecisions) {
    check(models::gemm_time(kernels, precision, 4096, 1024, 1));
    check(models::gemm_time(kernels, precision, 1, 7, 1e6, 3));
  }
  for (const models::AttentionCurve& curve : profile.attention) {
    PACELINE_CHECK(!curve.points.empty());
    kernels.attention = &curve;
    for (const double sequence : {1.0, 777.0, 1e9}) {
      check(models::attention_time(kernels, 1e12, sequence, false));
      check(models::attention_time(kernels, 1e12, sequence, true));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  fuzz::only_clear_errors([&] {
    check_profile(models::read_profile(base::parse_json(text, "input.json", fuzz::kLimits)));
  });
  return 0;
}
