// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#define PACELINE_PRODUCT eigen_product_generic
#include "kernels/gemm/eigen_product.inc"
