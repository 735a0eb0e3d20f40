// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "models/compression/compressed.hpp"
#include "models/context/documents.hpp"
#include "models/context/method.hpp"
#include "models/cost/collective_logs.hpp"
#include "models/hardware/device.hpp"
#include "models/hardware/profile.hpp"
#include "models/money/prices.hpp"
#include "models/outer/outer.hpp"
#include "models/scenario/failures.hpp"
#include "models/scenario/jitter.hpp"
#include "models/scenario/moe.hpp"
#include "models/scenario/offload.hpp"
#include "models/scenario/power_choice.hpp"
#include "models/scenario/schedule_choice.hpp"
#include "models/scenario/stack.hpp"
#include "models/workload/model.hpp"

namespace paceline::models {

enum class Recompute { None, Selective, Full, Blockwise };
/// Outputs that every layer drops after its forward and makes again before its backward: of norms
/// (Megatron-Core's recompute module `layernorm`), of the activation function of MLP and experts
/// (`moe_act`). With Recompute::None, or ::Selective for the attention core besides.
struct RecomputeParts {
  bool norms = false, activation = false;
  bool any() const { return norms || activation; }
};

/// Degrees and their placement. world_size = tp*pp*dp*cp; dp may be derived from the cluster.
struct Parallel {
  int tp = 1, pp = 1, dp = 1, cp = 1, ep = 1, etp = 1;
  std::vector<std::string> order{"tp", "cp", "ep", "dp", "pp"};  ///< innermost first
  int zero = 0;   ///< 0..3: what dp shards (optimizer, +gradients, +parameters)
  int shard = 0;  ///< HSDP: ranks that share one set of shards; 0 = the whole dp group
  bool sequence_parallel = false;
  ContextChoice context = default_context();
  std::vector<int> stage_layers;  ///< layers per stage; empty = the stack's partition rule
  int first_rank = 0;             ///< of a module that does not begin with the cluster
  int world_size() const { return tp * pp * dp * cp; }
};

/// Samples of different lengths, each computed whole by as many ranks as it is given of the cp x dp
/// ranks of the model (Arachne): lists of samples, a degree each.
struct Samples {
  Documents lengths;         ///< `packing` means nothing here
  std::vector<int> degrees;  ///< to choose from, ascending powers of 2; one: no choice
};

struct Batch {
  std::int64_t global = 0;             ///< sequences per step
  std::int64_t micro = 1;              ///< sequences per microbatch and replica
  std::int64_t sequence = 0;           ///< tokens
  std::optional<Documents> documents;  ///< nothing: one document fills a sequence
  std::optional<Samples> samples;      ///< nothing: every sample is `sequence` tokens
};

enum class OptimizerKernel : std::uint8_t { Framework, Fused, Epilogue };
/// Where the optimizer's states lie and its step runs.
enum class OptimizerDevice : std::uint8_t { Gpu, Cpu, Nvme };

/// An optimizer in host memory (ZeRO-Offload, arXiv 2101.06840) or on drives behind it
/// (ZeRO-Infinity, arXiv 2104.07857): gradients go to the host, the step runs there in subgroups,
/// each subgroup's weights come back when it is done.
struct OptimizerOffload {
  OptimizerDevice device = OptimizerDevice::Gpu;
  /// Parameters a second that the processors of one node update, for all its devices.
  double cpu_rate = 0;
  bool beside_backward = true;  ///< gradients go over layer by layer, as the backward makes them
  Precision gradients = Precision::Bf16;  ///< as they go over
  int subgroups = 16;
  /// Of the subgroups, spread evenly: their states come to the device, are updated there and go
  /// back, while the processors do the others (Deep Optimizer States, arXiv 2410.21316).
  double device_share = 0;
  base::BytesPerSecond read, write;  ///< drives of one node
  bool host() const { return device != OptimizerDevice::Gpu; }
};
/// ZeRO-Offload, arXiv 2101.06840, table 4: CPU-Adam takes 2.57 s for 10^10 parameters on the two
/// processors of a DGX-2.
inline constexpr double kCpuAdamRate = 1e10 / 2.57;

struct OptimizerChoice {
  std::string name = "adamw";  ///< adam, adamw, sgd
  Precision master = Precision::Fp32;
  Precision states = Precision::Fp32;
  bool keeps_master = true;  ///< false (`master: none`): the weights themselves are updated
  /// How the step runs: `framework` with its unscaling, norm, clipping and copies; `fused` one
  /// kernel that moves weights, gradients and states once; `epilogue` the same inside the product
  /// that makes the weight gradient, which is never stored (FORGE). `efficiency`: share of the rate
  /// of streaming kernels that `fused` and `epilogue` reach.
  OptimizerKernel kernel = OptimizerKernel::Framework;
  double efficiency = 1;
  /// Optimizer of the token tables (embedding and head): as the others, or Ember's factored second
  /// moment, V + D + 1 fp32 numbers for a table of V x D.
  bool ember_tables = false;
  /// Every stage waits for the gradient norm of all. Without: a stage updates when it has its own
  /// gradients and goes on with the next step; the norm is checked afterwards (Qi et al., "Zero
  /// Bubble Pipeline Parallelism", section 4).
  bool norm_barrier = true;
  OptimizerOffload offload;
};

/// Work of others that may run where the pipeline idles: frozen encoders, early exits.
struct ForeignWork {
  int pieces = 0;         ///< per step and pipeline; 0: none
  base::Seconds seconds;  ///< of one piece, on any rank
};

/// Stage times given instead of modelled: a published profile, per microbatch and stage.
struct GivenCosts {
  base::Seconds forward, input_gradient, weight_gradient, hop;
  base::Bytes activation;  ///< of one microbatch on one stage
  int layers = 0;  ///< of the stage that was timed: others scale, ends are modelled; 0: every stage
                   ///< takes the given times
};

/// How collectives are chosen and what was measured of them, `collectives` of the scenario.
struct CollectiveSettings {
  unsigned algorithms = kNcclAlgorithms, protocols = ~0u;  ///< as in CollectiveGroup
  bool tuner = false;
  std::shared_ptr<const CollectiveLogs> logs;  ///< null: none
};

struct Scenario;

/// When a module works that shares its ranks with another.
enum class Turns : std::uint8_t {
  EachMicrobatch,  ///< beside its host: forward before the host's, backward after it
  WholeBatch,      ///< all forwards before the host's first, all backwards after its last
};

/// A part of the model with a layout of its own: an encoder, a projector, the language model. The
/// modules are a tree: each feeds one other, the main one feeds none.
struct Module {
  std::string name;
  /// The module as a scenario of its own: model, layout, batch, schedule, recomputation.
  std::shared_ptr<const Scenario> view;
  int feeds = -1;  ///< module that reads its output; -1: it is the main one
  int host = -1;   ///< module whose ranks it shares; -1: its ranks are its own
  Turns turns = Turns::EachMicrobatch;
  /// Most microbatches that wait for its consumer, where their ranks differ, in those of the two
  /// that hold more samples.
  int ahead = 2;
  std::int64_t sent_tokens = 0;  ///< to the module it feeds, of one sample
  std::int64_t width = 0;        ///< of a token it sends
  std::int64_t micro = 1;        ///< samples of a microbatch and replica
  bool backward = true;          ///< it or a module that feeds it is trained
};

struct Scenario {
  std::string name;
  Model model;  ///< with modules: of the main one, as parallel, schedule, batch and recompute are
  Cluster cluster;
  Stack stack;
  std::vector<Profile> profiles;  ///< one per NodeGroup of the cluster
  /// measured collectives of each group's outermost device link
  std::vector<CollectiveTable> tables;
  CollectiveSettings collectives;
  Parallel parallel;
  ScheduleChoice schedule;
  Offload offload;
  MoeSettings moe;
  ForeignWork foreign;
  Batch batch;
  /// of the linear layers; norms, head and loss stay 16-bit
  Precision precision = Precision::Bf16;
  Recompute recompute = Recompute::None;
  int recompute_layers = 0;  ///< Blockwise: layers per stage that recompute, the first ones
  RecomputeParts recompute_parts;
  /// Pieces of a microbatch's tokens that head and loss take one after another, gradients of each
  /// made at once, so that the logits of one piece are alive (Liger, arXiv 2410.10989,
  /// section 3.2).
  int loss_chunks = 1;
  /// `recompute: auto`, `offload: auto`: the fastest that fits below memory_limit
  /// (sim/choose_memory.hpp); until then none.
  bool choose_recompute = false, choose_offload = false;
  base::Bytes memory_limit;  ///< 0: the device's memory
  std::string attention;     ///< kernel id of the profile, or "eager" / "megatron-fused"
  OptimizerChoice optimizer;
  std::optional<GivenCosts> costs;
  std::optional<Jitter> jitter;              ///< nothing: every step takes the same time
  std::vector<CompressionRule> compression;  ///< the first that holds counts
  std::optional<OuterChoice> outer;  ///< workers that exchange now and then; nothing: one worker
  std::optional<Prices> prices;      ///< nothing: no cost is said
  double run_tokens = 0;             ///< tokens of the whole run; 0 = not asked
  std::optional<FailureSettings> failures;  ///< nothing: the run is told without
  std::optional<PowerChoice> power;         ///< nothing: as fast as devices go
  std::vector<Module> modules;              ///< empty: the model is one
  bool frozen = false;  ///< no gradients of its weights, no optimizer (a module's view)
  std::vector<std::string> assumptions;
  std::string file;  ///< as given by the user
  std::string hash;  ///< of the resolved text
  /// Where keys stood, "file:line:column: parallel.tp", for messages after reading.
  std::vector<std::pair<std::string, std::string>> places;
  std::string resolved;  ///< the scenario with every default written out, YAML
};

/// Ranks in use, over all modules.
int used_devices(const Scenario& scenario);
/// Nodes that hold them.
int used_nodes(const Scenario& scenario);

/// Where a key of the scenario stood, for messages: its own place, or that of the map it would
/// stand in, or the file alone.
std::string where(const Scenario& scenario, const std::string& key);

/// Reads, resolves and checks. Anything wrong is an Error naming the place.
Scenario read_scenario(const base::Document& document);
Scenario read_scenario_file(const std::string& path, const std::vector<std::string>& set = {});

}  // namespace paceline::models
