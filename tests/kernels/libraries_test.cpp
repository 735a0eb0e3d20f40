// SPDX-License-Identifier: Apache-2.0
// Libraries that are loaded at run time: there, absent, too old.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/error.hpp"
#include "kernels/backend.hpp"
#include "kernels/collective/nccl.hpp"
#include "kernels/cuda/nvml.hpp"

using namespace paceline::kernels;
using paceline::base::Error;
using paceline::base::MissingError;

namespace {

template <class Function>
std::string missing(const Function& function) {
  try {
    function();
  } catch (const MissingError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("versions of NCCL are read in both ways of counting", "[kernels]") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(21003) == "2.10.3");
  CHECK(nccl_version_text(2804) == "2.8.4");
  CHECK(2804 < kOldestNccl);
}

TEST_CASE("NCCL loads with all its functions, or says what is missing", "[kernels]") {
  int version = 0;
  const std::string why = missing([&] { version = nccl_version(); });
  CHECK((why.empty() ? version >= kOldestNccl : why.rfind("NCCL ", 0) == 0));
  const bool built = why.find("this build has none") == std::string::npos;
  const std::string old = missing([] { nccl_version_of(PACELINE_OLD_NCCL); });
  const std::string none = missing([] { nccl_version_of("libno-such-nccl.so"); });
  CHECK(old == (built ? "NCCL 2.8.4 is too old: 2.10.0 or later is needed" : why));
  CHECK(none.find(built ? "libno-such-nccl.so" : "this build has none") != std::string::npos);
}

TEST_CASE("without a driver CUDA and NCCL say so in one line", "[kernels]") {
  const std::string why = missing([] { backend_named("cuda"); });
  if (why.empty()) return;  // there is a GPU here
  CHECK(why.rfind("cuda: ", 0) == 0);
  CHECK(why.find('\n') == std::string::npos);
  CHECK((why.find("no NVIDIA driver") != std::string::npos ||
         why.find("no device") != std::string::npos ||
         why.find("no CUDA kernels") != std::string::npos));
  CHECK(!missing([] { nccl_communicator(self_communicator()); }).empty());
}

TEST_CASE("a GPU's readings come in their units, what it does not know is absent", "[kernels]") {
  const Nvml nvml(PACELINE_FAKE_NVML);
  CHECK_THROWS_AS(nvml.gpu("0000:00:00.0"), Error);
  void* gpu = nvml.gpu("0000:9b:00.0");
  CHECK(nvml.name(gpu) == "NVIDIA H200");
  const GpuReading reading = nvml.read(gpu);
  CHECK(reading.power_W.value() == Approx(612.345));
  CHECK(reading.energy_J.value() == Approx(5e6));
  CHECK(reading.clock_MHz.value() == 1980);
  CHECK(reading.memory_clock_MHz.value() == 3201);
  CHECK_FALSE(reading.temperature_C.has_value());
}

TEST_CASE("without NVML one line says what is lost", "[kernels]") {
  const std::string none = missing([] { Nvml nvml("libno-such-nvml.so.1"); });
  CHECK(none.rfind("nvml: power, clocks and temperature of GPUs are not available: ", 0) == 0);
  CHECK(none.find("libno-such-nvml.so.1") != std::string::npos);
  setenv("PACELINE_NO_DRIVER", "1", 1);
  const std::string driver = missing([] { Nvml nvml(PACELINE_FAKE_NVML); });
  unsetenv("PACELINE_NO_DRIVER");
  CHECK(driver ==
        "nvml: power, clocks and temperature of GPUs are not available: Driver Not Loaded");
}
