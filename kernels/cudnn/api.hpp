// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// cuDNN's graph interface out of a library that is found at run time. No header of it is needed:
/// functions, numbers and types are those of NVIDIA's cuDNN backend API reference (chapter "cuDNN
/// Graph Library": data types, functions, backend descriptor types), which are the same in all of
/// cuDNN 9.
namespace paceline::kernels::cudnn {

using Status = int;        // cudnnStatus_t
using Handle = void*;      // cudnnHandle_t
using Descriptor = void*;  // cudnnBackendDescriptor_t
constexpr Status kSuccess = 0;

/// cudnnBackendDescriptorType_t
enum class Kind : int {
  Pointwise = 0,
  EngineConfig = 3,
  EngineHeuristics = 4,
  ExecutionPlan = 5,
  OperationPointwise = 13,
  OperationGraph = 15,
  VariantPack = 16,
  Tensor = 17,
  Matmul = 18,
  OperationMatmul = 19,
  Reduction = 21,
  OperationReduction = 22,
  OperationReshape = 31,
  DeviceProperties = 38  // from 9.8
};

/// cudnnBackendAttributeName_t
enum class Attribute : int {
  PointwiseMode = 0,
  PointwiseMathPrecision = 1,
  PointwiseAxis = 9,
  HeuristicsMode = 200,
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  HeuristicsDevice = 204,
  PlanHandle = 400,
  PlanEngineConfig = 401,
  PlanWorkspaceSize = 402,
  PlanDevice = 407,
  OperationPointwise = 750,
  OperationPointwiseX = 751,
  OperationPointwiseB = 752,
  OperationPointwiseY = 753,
  OperationPointwiseT = 758,
  GraphHandle = 800,
  GraphOperations = 801,
  TensorAlignment = 900,
  TensorDataType = 901,
  TensorSizes = 902,
  TensorStrides = 903,
  TensorUniqueId = 906,
  TensorIsVirtual = 907,
  TensorIsByValue = 908,
  PackUniqueIds = 1000,
  PackPointers = 1001,
  PackWorkspace = 1003,
  MatmulComputeType = 1500,
  OperationMatmulA = 1520,
  OperationMatmulB = 1521,
  OperationMatmulC = 1522,
  OperationMatmul = 1523,
  ReductionOperator = 1600,
  ReductionComputeType = 1601,
  OperationReductionX = 1610,
  OperationReductionY = 1611,
  OperationReduction = 1612,
  OperationReshapeX = 2200,
  OperationReshapeY = 2201,
  DeviceJson = 2702
};

/// cudnnBackendAttributeType_t: what the array of an attribute's values is one of.
enum class Type : int {
  Handles = 0,
  DataTypes = 1,
  Booleans = 2,
  Int64s = 3,
  Pointers = 6,
  HeuristicsModes = 8,
  PointwiseModes = 14,
  Descriptors = 15,
  ReductionOperators = 18,
  Chars = 24
};

/// cudnnDataType_t
enum class Data : int { Float = 0, Half = 2, Int32 = 4, Bfloat16 = 9, Boolean = 11 };

/// cudnnPointwiseMode_t
enum class Pointwise : int {
  Add = 0,
  Multiply = 1,
  Divide = 6,
  Subtract = 9,
  Exp = 13,
  Log = 15,
  Identity = 21,
  GreaterOrEqual = 303,
  Index = 501,  // of the element along an axis
  Select = 601  // T ? X : B
};

/// cudnnReduceTensorOp_t
enum class Reduce : int { Add = 0, Max = 3 };

/// cudnnBackendHeurMode_t
enum class Heuristics : int { Fallback = 2, A = 3 };

struct Api {
  Status (*Create)(Handle*) = nullptr;
  Status (*Destroy)(Handle) = nullptr;
  Status (*SetStream)(Handle, void* stream) = nullptr;
  const char* (*GetErrorString)(Status) = nullptr;
  void (*GetLastErrorString)(char* text, std::size_t bytes) = nullptr;
  Status (*BackendCreateDescriptor)(Kind, Descriptor*) = nullptr;
  Status (*BackendDestroyDescriptor)(Descriptor) = nullptr;
  Status (*BackendSetAttribute)(Descriptor, Attribute, Type, std::int64_t count,
                                const void* elements) = nullptr;
  Status (*BackendGetAttribute)(Descriptor, Attribute, Type, std::int64_t most, std::int64_t* count,
                                void* elements) = nullptr;
  Status (*BackendFinalize)(Descriptor) = nullptr;
  Status (*BackendExecute)(Handle, Descriptor plan, Descriptor pack) = nullptr;
  std::size_t version = 0;  ///< 91900: 9.19.0
};

/// Flash attention's backward pass of cuDNN 8 wants other graphs.
constexpr std::size_t kOldestCudnn = 90000;
/// From here plans can be made for a device that is described (Attribute::DeviceJson).
constexpr std::size_t kDescribedDevices = 90800;
std::string version_text(std::size_t version);

/// From the first library of these names that can be loaded. base::MissingError in one line: none
/// can, it is older than kOldestCudnn, or it lacks a function.
Api load(std::span<const char* const> names);
/// The one of this machine, loaded once. base::MissingError as load().
const Api& api();

/// base::Error in one line, with cuDNN's own words, unless it succeeded; Unsupported (library.hpp)
/// where it says that it does not do this.
void check(const Api& api, Status status, const std::string& doing);

}  // namespace paceline::kernels::cudnn
