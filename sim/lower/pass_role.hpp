// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace paceline::sim {

/// What a pass computes on a stage, as far as costs go.
enum class Role : std::uint8_t {
  Forward,
  Backward,   ///< both gradients
  Input,      ///< gradient of the input
  Weight,     ///< gradient of the weights
  Recompute,  ///< the forward again
  /// Of double-backward training: the gradient of the output with respect to the input, and the
  /// backward through it.
  Force,
  ForceBackward,
};
inline constexpr int kRoles = 7;
constexpr std::size_t index_of(Role role) { return static_cast<std::size_t>(role); }

/// Whose operations it has: a force costs what an input gradient does, the backward through it what
/// a whole backward does.
constexpr Role work_role(Role role) {
  return role == Role::Force ? Role::Input : role == Role::ForceBackward ? Role::Backward : role;
}
/// The last gradients of weights come out of it.
constexpr bool gives_gradients(Role role) { return role == Role::Backward || role == Role::Weight; }
/// It multiplies with the weights.
constexpr bool needs_weights(Role role) { return role != Role::Weight; }

/// F, BW, B, W and R; the passes of double-backward training: FE forward, FF the gradient of its
/// output with respect to the input, BF and BE the backward of the two, taken to cost what an input
/// gradient and full backwards cost. Empty for passes that are no work on layers.
constexpr std::optional<Role> role_of(std::string_view pass) {
  if (pass == "F" || pass == "FE") return Role::Forward;
  if (pass == "BW" || pass == "BE") return Role::Backward;
  if (pass == "B") return Role::Input;
  if (pass == "FF") return Role::Force;
  if (pass == "BF") return Role::ForceBackward;
  if (pass == "W") return Role::Weight;
  if (pass == "R") return Role::Recompute;
  return std::nullopt;
}

/// Passes that are no work on layers.
enum class SidePass : std::uint8_t {
  None,
  Update,   ///< U: optimizer step of the stage, after its gradients are reduced
  Norm,     ///< N: the stage's share of the global gradient norm, then summed over the pipeline
  Offload,  ///< O: activations to host memory or NVMe, beside the compute stream
  Reload,   ///< L: and back
  /// S and T: forward and backward of a rank's share of the output layer, arXiv 2411.05288
  VocabularyForward,
  VocabularyBackward,
  Foreign,  ///< X: work of others (models::ForeignWork)
};
constexpr SidePass side_of(std::string_view pass) {
  if (pass == "U") return SidePass::Update;
  if (pass == "N") return SidePass::Norm;
  if (pass == "O") return SidePass::Offload;
  if (pass == "L") return SidePass::Reload;
  if (pass == "S") return SidePass::VocabularyForward;
  if (pass == "T") return SidePass::VocabularyBackward;
  if (pass == "X") return SidePass::Foreign;
  return SidePass::None;
}
/// It runs on a copy stream: the order of the rank only says when it is issued.
constexpr bool beside_compute(SidePass side) {
  return side == SidePass::Offload || side == SidePass::Reload;
}

}  // namespace paceline::sim
