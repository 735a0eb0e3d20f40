// SPDX-License-Identifier: Apache-2.0
// Stands for the NVIDIA driver's library where there is none: no device, but every compiled kernel
// is taken, which is all that cuDNN wants of a driver to make a plan for a device it is told of.
namespace {
int something = 0;
constexpr int kSuccess = 0, kNoDevice = 100, kVersion = 13000;
}  // namespace

extern "C" {

int cuInit(unsigned) { return kNoDevice; }
int cuDriverGetVersion(int* version) {
  *version = kVersion;
  return kSuccess;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_NO_DEVICE";
  return kSuccess;
}
int cuGetErrorString(int, const char** text) {
  *text = "no device";
  return kSuccess;
}
int cuLibraryLoadData(void** library) {
  *library = &something;
  return kSuccess;
}
int cuLibraryLoadFromFile(void** library) {
  *library = &something;
  return kSuccess;
}
int cuLibraryGetKernel(void** kernel) {
  *kernel = &something;
  return kSuccess;
}
int cuKernelGetAttribute(int* value) {
  *value = 0;
  return kSuccess;
}
int cuFuncGetAttribute(int* value) {
  *value = 0;
  return kSuccess;
}

#define PACELINE_FAKE_DRIVER_DOES(name) \
  int name() { return kSuccess; }
PACELINE_FAKE_DRIVER_DOES(cuKernelSetAttribute)
PACELINE_FAKE_DRIVER_DOES(cuFuncSetAttribute)
PACELINE_FAKE_DRIVER_DOES(cuLibraryUnload)

#define PACELINE_FAKE_DRIVER_LACKS(name) \
  int name() { return kNoDevice; }
PACELINE_FAKE_DRIVER_LACKS(cuCtxGetCurrent)
PACELINE_FAKE_DRIVER_LACKS(cuCtxGetDevice)
PACELINE_FAKE_DRIVER_LACKS(cuCtxGetLimit)
PACELINE_FAKE_DRIVER_LACKS(cuCtxPopCurrent)
PACELINE_FAKE_DRIVER_LACKS(cuCtxPushCurrent)
PACELINE_FAKE_DRIVER_LACKS(cuDeviceGet)
PACELINE_FAKE_DRIVER_LACKS(cuDeviceGetAttribute)
PACELINE_FAKE_DRIVER_LACKS(cuDeviceGetCount)
PACELINE_FAKE_DRIVER_LACKS(cuDevicePrimaryCtxRelease)
PACELINE_FAKE_DRIVER_LACKS(cuDevicePrimaryCtxReset)
PACELINE_FAKE_DRIVER_LACKS(cuDevicePrimaryCtxRetain)
PACELINE_FAKE_DRIVER_LACKS(cuLaunchCooperativeKernel)
PACELINE_FAKE_DRIVER_LACKS(cuLaunchKernel)
PACELINE_FAKE_DRIVER_LACKS(cuLaunchKernelEx)
PACELINE_FAKE_DRIVER_LACKS(cuLinkAddData)
PACELINE_FAKE_DRIVER_LACKS(cuLinkAddData_v2)
PACELINE_FAKE_DRIVER_LACKS(cuLinkAddFile_v2)
PACELINE_FAKE_DRIVER_LACKS(cuLinkComplete)
PACELINE_FAKE_DRIVER_LACKS(cuLinkCreate)
PACELINE_FAKE_DRIVER_LACKS(cuLinkCreate_v2)
PACELINE_FAKE_DRIVER_LACKS(cuLinkDestroy)
PACELINE_FAKE_DRIVER_LACKS(cuMemcpyDtoH_v2)
PACELINE_FAKE_DRIVER_LACKS(cuModuleGetFunction)
PACELINE_FAKE_DRIVER_LACKS(cuModuleGetGlobal_v2)
PACELINE_FAKE_DRIVER_LACKS(cuModuleLoadData)
PACELINE_FAKE_DRIVER_LACKS(cuModuleLoadDataEx)
PACELINE_FAKE_DRIVER_LACKS(cuModuleLoadFatBinary)
PACELINE_FAKE_DRIVER_LACKS(cuModuleUnload)
PACELINE_FAKE_DRIVER_LACKS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
PACELINE_FAKE_DRIVER_LACKS(cuOccupancyMaxPotentialClusterSize)
PACELINE_FAKE_DRIVER_LACKS(cuStreamGetCtx)
PACELINE_FAKE_DRIVER_LACKS(cuStreamSynchronize)
PACELINE_FAKE_DRIVER_LACKS(cuTensorMapEncodeTiled)

}  // extern "C"
