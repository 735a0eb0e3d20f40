// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"
#include "models/hardware/device.hpp"

namespace paceline::models {

enum class NormKernel { Fused, Eager };
/// How a microbatch's weight gradient joins the accumulated one.
enum class Accumulation {
  Autograd16,  ///< a 16-bit add per parameter: read, read, write = 6 B
  MainGrad32,  ///< add of a 16-bit gradient to an fp32 buffer: 2 + 4 + 4 = 10 B
  Separate32,  ///< as MainGrad32, and the 16-bit gradients stay allocated beside the fp32 ones
  Fused32,     ///< in the epilogue of the weight-gradient GEMM, fp32: its output counts 4 + 4 B
};
enum class TpOverlap {
  None,      ///< every collective on the critical path
  Backward,  ///< the input-gradient reduction runs beside the weight-gradient GEMM
  Bulk,      ///< as Backward, and forward collectives are split along the GEMM (user buffers)
};
enum class DpOverlap {
  None,                     ///< gradients after the last backward, parameters after the optimizer
  Bucketed,                 ///< per layer, beside the last backward and the first forward
  BucketedWithoutPipeline,  ///< as Bucketed with one stage; as None with a pipeline (torch DDP)
};
/// Cross-entropy over the vocabulary, by the passes it makes over the logits.
enum class Loss {
  VocabParallel,  ///< Megatron: cast, max, subtract, exp, sum, gradient, cast in fp32: 48 B per
                  ///< logit
  Torch,  ///< F.cross_entropy on a cast: cast 6, log-softmax 8, its backward 10, cast 6: 30 B
  Fused,  ///< two fp32 passes forward and one backward: 24 B
};
/// How layers are dealt to stages that do not divide them.
enum class Partition {
  /// Ceil first where they do not divide: 7,7,...,1; balanced where that would leave a stage empty.
  Even,
  Balanced,          ///< differ by at most one, larger first
  EmbeddingAndHead,  ///< embedding and head count as a layer each
};

/// A number of a stack, with where it comes from. At most six per stack.
struct StackNumber {
  std::string name;
  double value = 0;
  std::string source;
};

/// What a training framework does with the hardware (models/specs/stack/NAME.yaml): kernel choices
/// and overlap switches, and at most six numbers, each with its source.
struct Stack {
  std::string name;
  std::string source;
  std::string nccl = "2.21";  ///< release of the constants table

  // Kernels.
  std::string attention = "flash-2";  ///< used when the scenario names none
  NormKernel norm = NormKernel::Fused;
  bool fused_rotary = true;
  bool dropout = true;
  bool fused_bias_dropout = true;
  bool fused_activation = true;  ///< bias and activation in one kernel
  /// runs the kernels of this program: elementwise ones and optimizers take the times that bench
  /// measured (Profile::kernels)
  bool measured_kernels = false;
  Accumulation accumulation = Accumulation::MainGrad32;
  Precision gradient_reduce = Precision::Fp32;
  bool sharded_logits = true;  ///< over tp; false: every rank holds the whole vocabulary
  Loss loss = Loss::VocabParallel;
  /// full recomputation ends before the last GEMM, whose output no gradient needs (PyTorch
  /// non-reentrant checkpoints)
  bool recompute_stops_early = false;

  // Overlap.
  TpOverlap tp_overlap = TpOverlap::None;
  DpOverlap dp_overlap = DpOverlap::None;
  bool zero_all_reduce = false;  ///< ZeRO 1 all-reduces gradients before it keeps its shard
  /// the tensor sent to the next stage stays allocated until its backward
  bool keeps_stage_outputs = false;
  bool p2p_blocking = true;         ///< sends occupy the compute stream
  bool p2p_scatter_gather = false;  ///< each tp rank sends 1/tp, gathered on arrival
  bool blocking_launch = false;     ///< host time adds to device time instead of hiding behind it
  Partition partition = Partition::Even;

  // Numbers, in the order of the list in the file; defaults mean "no effect".
  double sustained = 1;    ///< GEMM rate over the profile's
  double elementwise = 1;  ///< bytes of elementwise kernels over the counted ones
  double tp_exposed = 0;   ///< share of an overlapped tp collective that stays exposed
  double tp_factor = 1;    ///< time of tp collectives over the model's
  /// compute beside a communication stream runs at 1/this; absent: Device::overlap_slowdown
  std::optional<double> overlap_slowdown;
  double attention_factor = 1;       ///< attention rate over the kernel's published curve
  double scale_loss = 0;             ///< relative step-time loss per doubling of nodes
  base::Seconds step_overhead;       ///< per step: data, logging, synchronisation
  base::Seconds host_layer_forward;  ///< host time per layer and microbatch
  base::Seconds host_layer_backward;
  /// the same of a layer with experts, forward and backward together, in 16 bits and in FP8
  base::Seconds host_moe_layer, host_moe_layer_fp8;
  base::Seconds microbatch_host;  ///< idle time of the device per microbatch, beside kernels and
                                  ///< messages
  base::Seconds collective_overhead;  ///< per dp or FSDP collective call, on top of the model
  double activation_overhead = 1;     ///< allocated activations over the counted ones
  base::Bytes runtime_memory;         ///< context, communicators, workspaces, allocator slack
  double logit_bytes = 6;             ///< live bytes per logit at the memory peak of the loss
  std::vector<StackNumber> numbers;   ///< those the file sets, for reports
};

Stack read_stack(const std::string& name, const std::string& where);
/// `stack: NAME`, or `stack: {name: NAME, norm: eager, ...}` with overrides of single switches.
Stack read_stack(const base::Document& document, const base::Value& value);

}  // namespace paceline::models
