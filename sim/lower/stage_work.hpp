// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/cost/memory.hpp"
#include "sim/lower/pass_cost.hpp"
#include "sim/program.hpp"

namespace paceline::sim {

/// Something of every role.
template <class T>
using ByRole = std::array<T, kRoles>;

/// Bytes of parameters or gradients by who holds the same: dense ones over dp and cp, those of
/// experts over edp.
struct DataBytes {
  double dense = 0, experts = 0;
  double sum() const { return dense + experts; }
  DataBytes& operator+=(const DataBytes& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
  }
};

/// Parameters a rank holds: all, and of them those of routed experts.
struct RankParameters {
  double all = 0, experts = 0;
  RankParameters& operator+=(const RankParameters& other) {
    all += other.all;
    experts += other.experts;
    return *this;
  }
};

/// A piece of a pass that parameters are gathered for and gradients reduced after: one layer, or an
/// end. Segments index TaskGraph::segments.
struct PassPart {
  ByRole<std::uint16_t> segment{};
  DataBytes gather_bytes, reduce_bytes;
  /// Pieces, where CostContext::keep_inner asks for them.
  ByRole<std::shared_ptr<const std::vector<InnerTask>>> inner;
};

/// The passes of one slice.
struct SliceWork {
  ByRole<std::uint16_t> segment{};  ///< whole passes
  std::vector<PassPart> parts;      ///< in forward order
  /// Whole passes with their pieces, where CostContext::pairs asks for them.
  ByRole<std::shared_ptr<const PassCost>> whole;
};

/// What the actions of one stage cost. Stages of the same composition share their segments.
struct StageWork {
  std::vector<SliceWork> slices;
  models::StageMemory memory;
  RankParameters parameters;  ///< that are trained
  std::size_t mesh = 0;
  DataBytes gather_bytes, reduce_bytes;  ///< of all parts
};

/// What of the work a Program asks for.
struct WorkNeeds {
  ByRole<bool> roles{};
  std::vector<Slice> slices{{}};
  bool forward_only = false;  ///< nothing stays for a backward
  bool pooled = false;        ///< Program::pooled
};

/// Slices of a sequence of so many tokens are as equal as whole tiles of kernels allow; there
/// are no more slices than tokens.
WorkNeeds work_needs(const Program& program, std::int64_t sequence);

/// Costs stages, adding segments to the graph: `held[i]` is a stage of the plan and the context of
/// a rank that runs it.
struct HeldStage {
  int stage = 0;
  const CostContext* context = nullptr;
  bool backward = true;  ///< false: nothing is stored for one
};
std::vector<StageWork> cost_stages(TaskGraph& graph, const models::Plan& plan,
                                   const std::vector<HeldStage>& held, const WorkNeeds& needs);

/// What jitter and stragglers of a machine of many nodes multiply the time of every pass with.
double scale_loss_factor(const models::Scenario& scenario);

std::uint16_t add_segment(TaskGraph& graph, std::string name, const PassCost& cost);

}  // namespace paceline::sim
