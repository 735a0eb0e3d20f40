// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Marks arithmetic that kernels on a device share with the host: codecs, optimizers, reductions of
/// one element. Such functions take plain numbers and pointers, no types of the standard library.
#ifdef __CUDACC__
#define PACELINE_HD __host__ __device__
#else
#define PACELINE_HD
#endif
