// SPDX-License-Identifier: Apache-2.0
#pragma once
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
#include "models/scenario/jitter.hpp"
#include "models/scenario/moe.hpp"
#include "models/scenario/offload.hpp"
#include "models/scenario/schedule_choice.hpp"
#include "models/scenario/stack.hpp"
#include "models/workload/model.hpp"

namespace paceline::models {

enum class Recompute { None, Selective, Full, Blockwise };

/// Degrees and their placement. world_size = tp*pp*dp*cp; dp may be derived from the cluster.
struct Parallel {
  int tp = 1, pp = 1, dp = 1, cp = 1, ep = 1, etp = 1;
  std::vector<std::string> order{"tp", "cp", "ep", "dp", "pp"};  ///< innermost first
  int zero = 0;   ///< 0..3: what dp shards (optimizer, +gradients, +parameters)
  int shard = 0;  ///< HSDP: ranks that share one set of shards; 0 = the whole dp group
  bool sequence_parallel = false;
  ContextChoice context = default_context();
  std::vector<int> stage_layers;  ///< layers per stage; empty = the stack's partition rule
  int world_size() const { return tp * pp * dp * cp; }
};

struct Batch {
  std::int64_t global = 0;             ///< sequences per step
  std::int64_t micro = 1;              ///< sequences per microbatch and replica
  std::int64_t sequence = 0;           ///< tokens
  std::optional<Documents> documents;  ///< nothing: one document fills a sequence
};

enum class OptimizerKernel : std::uint8_t { Framework, Fused, Epilogue };
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

struct Scenario {
  std::string name;
  Model model;
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
  std::string attention;     ///< kernel id of the profile, or "eager" / "megatron-fused"
  OptimizerChoice optimizer;
  std::optional<GivenCosts> costs;
  std::optional<Jitter> jitter;              ///< nothing: every step takes the same time
  std::vector<CompressionRule> compression;  ///< the first that holds counts
  std::optional<OuterChoice> outer;  ///< workers that exchange now and then; nothing: one worker
  std::optional<Prices> prices;      ///< nothing: no cost is said
  double run_tokens = 0;             ///< tokens of the whole run; 0 = not asked
  std::vector<std::string> assumptions;
  std::string file;  ///< as given by the user
  std::string hash;  ///< of the resolved text
  /// Where keys stood, "file:line:column: parallel.tp", for messages after reading.
  std::vector<std::pair<std::string, std::string>> places;
  std::string resolved;  ///< the scenario with every default written out, YAML
};

/// Where a key of the scenario stood, for messages: its own place, or that of the map it would
/// stand in, or the file alone.
std::string where(const Scenario& scenario, const std::string& key);

/// Reads, resolves and checks. Anything wrong is an Error naming the place.
Scenario read_scenario(const base::Document& document);
Scenario read_scenario_file(const std::string& path, const std::vector<std::string>& set = {});

}  // namespace paceline::models
