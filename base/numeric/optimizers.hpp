// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "base/numeric/host_device.hpp"

/// Updates of one parameter by the optimizers, in fp32. Settings are plain floats, so that kernels
/// read them from their device's memory; corrections are worked out once a step on the host. Rules
/// that look at one parameter alone have kStates numbers of state for each and
/// update(rule, gradient, weight, states).
namespace paceline::numeric {

/// AdamW: Loshchilov and Hutter, Decoupled weight decay regularization (arXiv:1711.05101),
/// algorithm 2; the decay is multiplied by the learning rate.
///   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
///   w = w - rate (m / c1 / (sqrt(v / c2) + epsilon) + decay w),   c = 1 - b^step
struct AdamW {
  float rate, beta1, beta2, epsilon, decay;
  float correction1, correction2;    ///< 1 - beta^step
  static constexpr int kStates = 2;  ///< m, v
};

/// `step` counts from 1.
inline AdamW adamw(double rate, double beta1, double beta2, double epsilon, double decay,
                   double step) {
  return {static_cast<float>(rate),
          static_cast<float>(beta1),
          static_cast<float>(beta2),
          static_cast<float>(epsilon),
          static_cast<float>(decay),
          static_cast<float>(1 - std::pow(beta1, step)),
          static_cast<float>(1 - std::pow(beta2, step))};
}
PACELINE_HD inline void update(const AdamW& a, float gradient, float& weight, float* states) {
  const float first = a.beta1 * states[0] + (1 - a.beta1) * gradient;
  const float second = a.beta2 * states[1] + (1 - a.beta2) * gradient * gradient;
  states[0] = first;
  states[1] = second;
  const float step = first / a.correction1 / (sqrtf(second / a.correction2) + a.epsilon);
  weight -= a.rate * (step + a.decay * weight);
}

/// Gradient descent with momentum and Nesterov's look ahead as deep learning writes it (Sutskever
/// et al., On the importance of initialization and momentum, 2013, section 2), the decay added to
/// the gradient:
///   g = g + decay w,  m = momentum m + g,  w = w - rate (nesterov ? g + momentum m : m)
struct Sgd {
  float rate, momentum, decay;
  float nesterov;  ///< 1 or 0 (from one half on it counts as 1)
  static constexpr int kStates = 1;
};
PACELINE_HD inline void update(const Sgd& s, float gradient, float& weight, float* states) {
  gradient += s.decay * weight;
  const float momentum = s.momentum * states[0] + gradient;
  states[0] = momentum;
  weight -= s.rate * (s.nesterov >= 0.5F ? gradient + s.momentum * momentum : momentum);
}

/// Muon: momentum with Nesterov's look ahead, made orthogonal by Newton-Schulz steps (Jordan et
/// al., Muon: an optimizer for hidden layers in neural networks, 2024); decay and scale as in Liu
/// et al., Muon is scalable for LLM training (arXiv:2502.16982), equation 4.
///   m = momentum m + g,  u = g + momentum m,  X = u / (|u| + epsilon)
///   five times:  A = X X^T,  X = a X + (b A + c A^2) X
///   w = w - rate (scale X + decay w)
struct Muon {
  float rate, momentum, decay;
  float scale;  ///< muon_scale(rows, columns)
};
constexpr int kNewtonSchulzSteps = 5;
constexpr float kNewtonSchulzA = 3.4445F, kNewtonSchulzB = -4.7750F, kNewtonSchulzC = 2.0315F;
constexpr float kNewtonSchulzEpsilon = 1e-7F;

/// Gives an orthogonal update the root mean square of AdamW's (arXiv:2502.16982, section 2.2).
inline double muon_scale(double rows, double columns) {
  return 0.2 * std::sqrt(rows > columns ? rows : columns);
}
/// Updates the momentum and returns u.
PACELINE_HD inline float muon_direction(const Muon& s, float gradient, float& momentum) {
  momentum = s.momentum * momentum + gradient;
  return gradient + s.momentum * momentum;
}
/// u once more, from a momentum that muon_direction has updated.
PACELINE_HD inline float muon_again(const Muon& s, float gradient, float momentum) {
  return gradient + s.momentum * momentum;
}
PACELINE_HD inline void muon_apply(const Muon& s, float orthogonal, float& weight) {
  weight -= s.rate * (s.scale * orthogonal + s.decay * weight);
}

/// Ember, an optimizer of token tables (embedding, head) without momentum: the second moment of
/// V x D gradients as a product of its row and column means, V + D + 1 numbers instead of Adam's
/// 2 V D (the ember repository's README and ember.py).
///   r, c, s = moving averages of the row means, column means and mean of g^2
///   v_ij = r_i c_j / (s (1 - beta2^step)),  w = w - rate g / (sqrt(v) + epsilon)
/// Without any gradient so far s is 0 and v counts as 0.
struct Ember {
  float rate, beta2, epsilon;
  float correction;  ///< 1 - beta2^step
};

PACELINE_HD inline float ember_average(const Ember& e, float old, float mean) {
  return e.beta2 * old + (1 - e.beta2) * mean;
}
/// What a row's average contributes to v: v_ij = ember_row(r_i, s) c_j.
PACELINE_HD inline float ember_row(const Ember& e, float row, float all) {
  return all > 0 ? row / (all * e.correction) : 0.0F;
}
PACELINE_HD inline void ember_apply(const Ember& e, float gradient, float row, float column,
                                    float& weight) {
  weight -= e.rate * gradient / (sqrtf(row * column) + e.epsilon);
}

}  // namespace paceline::numeric
