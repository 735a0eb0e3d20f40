// SPDX-License-Identifier: Apache-2.0
// A management library with one GPU, which does not know its temperature; or, with
// PACELINE_NO_DRIVER set, without a driver.
#include <cstdlib>
#include <cstring>

extern "C" {
int nvmlInit_v2();
int nvmlShutdown();
const char* nvmlErrorString(int status);
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** gpu);
int nvmlDeviceGetName(void* gpu, char* text, unsigned bytes);
int nvmlDeviceGetPowerUsage(void* gpu, unsigned* milliwatts);
int nvmlDeviceGetTotalEnergyConsumption(void* gpu, unsigned long long* millijoules);
int nvmlDeviceGetClockInfo(void* gpu, int which, unsigned* megahertz);
int nvmlDeviceGetTemperature(void* gpu, int sensor, unsigned* celsius);
}

namespace {
int only_gpu = 0;
}

int nvmlInit_v2() { return std::getenv("PACELINE_NO_DRIVER") == nullptr ? 0 : 9; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "Not Found"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** gpu) {
  *gpu = &only_gpu;
  return std::strcmp(address, "0000:9b:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetName(void*, char* text, unsigned bytes) {
  std::strncpy(text, "NVIDIA H200", bytes);
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 612345;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = 5000000000;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* megahertz) {
  *megahertz = which == 1 ? 1980 : which == 2 ? 3201 : 0;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned*) { return 3; }
