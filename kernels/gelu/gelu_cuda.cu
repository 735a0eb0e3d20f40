// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gelu/gelu.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

struct Forward {
  __device__ float operator()(const float (&x)[1]) const { return gelu(x[0]); }
};
struct InputGradient {
  __device__ float operator()(const float (&x)[2]) const { return x[1] * gelu_slope(x[0]); }
};

template <class T>
void launch_forward(const Call& call, Stream stream) {
  launch_elementwise(call, stream, Forward{}, Inputs<T, 1>{{call.at<T>(0)}}, call.at<T>(1),
                     elements(call.c));
}
template <class T>
void launch_input_gradient(const Call& call, Stream stream) {
  launch_elementwise(call, stream, InputGradient{}, Inputs<T, 2>{{call.at<T>(0), call.at<T>(1)}},
                     call.at<T>(2), elements(call.c));
}

}  // namespace

void gelu_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_forward, s); }
void gelu_input_gradient(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_input_gradient, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
