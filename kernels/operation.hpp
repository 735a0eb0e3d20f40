// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "kernels/stream.hpp"
#include "kernels/tensor.hpp"

namespace paceline::kernels {

/// What a run of an operation is asked to do: the type activations (or whatever the operation says)
/// are stored in, and the extents.
struct Case {
  DType type = DType::F32;
  Shape shape;
};

enum class Use : std::uint8_t { In, Out, InOut, Scratch };
/// How the driver fills inputs: normal with standard deviation `scale`; uniform in [0, scale);
/// whole numbers in [0, scale); all `scale`; offsets of pieces that cover [0, scale]: whole numbers
/// ascending from 0 to scale, in equal steps or cut at random places (empty pieces among them);
/// standard normal at exactly `scale` places and zero elsewhere; distinct whole numbers below
/// scale, rising; whole numbers of which each bit is set with probability `scale`.
enum class Fill : std::uint8_t {
  Normal,
  Uniform,
  Whole,
  Constant,
  Steps,
  Cuts,
  Sparse,
  Ascending,
  Bits
};

/// What an element that was not written reads as: NaN, or this byte in all of an integer's. A
/// reference that wants elements left alone (behind a count that only the data tells) says so with
/// unwritten().
constexpr unsigned char kUnwrittenByte = 0xee;
double unwritten(DType type);

/// One argument. Out and Scratch are unwritten before a run.
struct TensorSpec {
  const char* name;
  Use use = Use::In;
  DType type = DType::F32;
  std::int64_t count = 0;
  Fill fill = Fill::Normal;
  double scale = 1;
  /// Largest |result - reference| allowed, as a share of the root mean square of the reference of
  /// this tensor (0: exactly equal). Rounding of the stored type comes on top.
  double tolerance = 0;
  /// In page-locked memory of the host: copies between host and device.
  bool on_host = false;
};

/// Arguments of a run, in the order of Operation::tensors.
struct Call {
  const Case& c;
  std::span<const Tensor> tensors;
  std::int64_t operator[](std::string_view extent) const { return c.shape[extent]; }
  template <class T>
  T* at(std::size_t i) const {
    return tensors[i].as<T>();
  }
};

/// Useful work: model flops (multiply and add count as two) and the least bytes that must move
/// between the device and its memory.
struct Work {
  double flops = 0, bytes = 0;
};

/// Values of all tensors of a case as double, after rounding to their stored types.
using Values = std::vector<std::vector<double>>;

/// One direction of one kernel. Plain functions and data: a new one is a row in its kernel's table.
struct Operation {
  const char* kernel;  ///< folder name: "rmsnorm"
  const char* pass;  ///< "forward", "input-gradient", "weight-gradient", "step", "encode", "decode"
  const char* summary;  ///< one line
  std::vector<DType> types;
  std::vector<TensorSpec> (*tensors)(const Case&);
  Work (*work)(const Case&);
  /// Small odd-sized cases for tests, useful sizes for measurements.
  std::vector<Shape> (*test_shapes)();
  std::vector<Shape> (*bench_shapes)();
  /// In double precision: reads In and InOut, writes Out and InOut.
  void (*reference)(const Case&, Values&);
  /// On this machine's processor, one thread.
  void (*cpu)(const Call&);
  /// On the current CUDA device, enqueued on the stream; null in builds without CUDA.
  void (*cuda)(const Call&, Stream) = nullptr;
  /// The same source run by the SIMT shim (kernels/simt); null where it needs tensor cores or
  /// asynchronous copies.
  void (*simt)(const Call&, Stream) = nullptr;
};

/// Device functions of an operation: x_cuda.cu defines `void name(const Call&, Stream)` in
/// namespace PACELINE_TARGET, which is compiled by nvcc as `cuda` and for the shim as `simt`.
#define PACELINE_DECLARE_DEVICE(name)  \
  namespace cuda {                     \
  void name(const Call& call, Stream); \
  }                                    \
  namespace simt {                     \
  void name(const Call& call, Stream); \
  }
#ifdef PACELINE_HAVE_CUDA
#define PACELINE_ON_DEVICE(name) cuda::name, simt::name
#define PACELINE_ON_CUDA(name) cuda::name, nullptr
#else
#define PACELINE_ON_DEVICE(name) nullptr, simt::name
#define PACELINE_ON_CUDA(name) nullptr, nullptr
#endif

/// All operations, in the order of kernels/list.def.
const std::vector<Operation>& operations();

}  // namespace paceline::kernels
