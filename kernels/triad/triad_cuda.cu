// SPDX-License-Identifier: Apache-2.0
#include "kernels/dispatch.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/triad/triad.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

struct Triad {
  __device__ float operator()(const float (&bc)[2]) const { return bc[0] + kTriadScalar * bc[1]; }
};

template <class T>
void launch_triad(const Call& call, Stream stream) {
  launch_elementwise(call, stream, Triad{}, Inputs<T, 2>{{call.at<T>(0), call.at<T>(1)}},
                     call.at<T>(2), call["count"]);
}

}  // namespace

void triad_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_triad, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
