// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 -mfma. The namespace's other name keeps the linker from taking one template
// instance for both: old processors would meet AVX2 instructions in the generic product.
#define Eigen EigenAvx2
#include <Eigen/Core>
#define PACELINE_PRODUCT eigen_product_avx2
#include "kernels/gemm/eigen_product.inc"
