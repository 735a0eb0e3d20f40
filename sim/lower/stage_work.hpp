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

/// A piece of a pass that parameters are gathered for and gradients reduced after: one layer, or an
/// end. Segments index TaskGraph::segments.
struct PassPart {
  ByRole<std::uint16_t> segment{};
  double gather_bytes = 0, reduce_bytes = 0;
  /// Pieces, where CostContext::keep_inner asks for them.
  ByRole<std::shared_ptr<const std::vector<InnerTask>>> inner;
};

/// The passes of one slice.
struct SliceWork {
  ByRole<std::uint16_t> segment{};  ///< whole passes
  std::vector<PassPart> parts;      ///< in forward order
};

/// What the actions of one stage cost. Stages of the same composition share their segments.
struct StageWork {
  std::vector<SliceWork> slices;
  models::StageMemory memory;
  double parameters = 0;  ///< that are trained, on a rank
  std::size_t mesh = 0;
  double gather_bytes = 0, reduce_bytes = 0;  ///< of all parts
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

std::uint16_t add_segment(TaskGraph& graph, std::string name, const PassCost& cost);

}  // namespace paceline::sim
