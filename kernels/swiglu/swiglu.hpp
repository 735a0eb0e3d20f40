// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/elementary.hpp"
#include "kernels/operation.hpp"

/// y = gate sigmoid(gate) * up (Shazeer, GLU variants improve Transformer, arXiv:2002.05202, eq. 5
/// and 6). x holds both as one product wrote them: rows of gate[columns], up[columns].
namespace paceline::kernels {

PACELINE_HD inline float swiglu(float gate, float up) { return gate * numeric::sigmoid(gate) * up; }
struct SwigluSlopes {
  float gate, up;
};
/// dy/dgate and dy/dup
PACELINE_HD inline SwigluSlopes swiglu_slopes(float gate, float up) {
  const float s = numeric::sigmoid(gate);
  return {up * (s + gate * s * (1 - s)), gate * s};
}

PACELINE_DECLARE_DEVICE(swiglu_forward)
PACELINE_DECLARE_DEVICE(swiglu_input_gradient)

}  // namespace paceline::kernels
