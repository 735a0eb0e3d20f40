// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/host_device.hpp"
#include "kernels/operation.hpp"

/// Rotary position embedding (Su et al., RoFormer, arXiv:2104.09864, eq. 34): elements i and
/// i + head_dim/2 of a head are rotated by position * base^(-2i/head_dim). (The paper pairs
/// neighbours; GPT-NeoX, Llama in Hugging Face's form and Megatron pair the halves, as here.)
/// x and y [rows, heads, head_dim]; cosines and sines of the angles [rows, head_dim/2], read rather
/// than computed, as frameworks do. The gradient is the rotation back.
namespace paceline::kernels {

/// Angle of pair i at a position. Llama's base is 10000 (Touvron et al. 2023), Llama 3's 500000.
double rope_angle(std::int64_t position, std::int64_t i, std::int64_t head_dim,
                  double base = 10000);

struct Pair {
  float first, second;
};
PACELINE_HD inline Pair rotated(Pair x, float cosine, float sine) {
  return {x.first * cosine - x.second * sine, x.first * sine + x.second * cosine};
}

PACELINE_DECLARE_DEVICE(rope_forward)
PACELINE_DECLARE_DEVICE(rope_input_gradient)

}  // namespace paceline::kernels
