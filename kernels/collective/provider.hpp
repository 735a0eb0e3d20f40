// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/tensor.hpp"

/// What an implementation of collectives provides: a table of C-like functions, because MPI's lies
/// in a module of its own. Exceptions do not cross it: every function returns null, or in one line
/// what went wrong, valid until the thread's next call. communicator.hpp says what they mean and
/// has checked the arguments.
namespace paceline::kernels {

enum class Reduction : std::uint8_t { Sum, Max };

/// One side of a point-to-point message.
struct Message {
  Tensor data;
  int peer = 0;
  bool sends = false;
  /// Keeps messages of one pair apart, 0 … 32767. NCCL has none: there, messages of a pair meet in
  /// the order in which both sides start them.
  int tag = 0;
};

/// A communicator as its provider made it.
struct ProviderHandle {
  void* communicator = nullptr;
  int rank = 0, size = 1;
};

using Failure = const char*;
/// Keeps the text until the thread's next failure.
inline Failure fail(std::string text) {
  static thread_local std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

struct Provider {
  const char* name;  ///< "self", "mpi", "nccl"
  void (*release)(void* communicator);
  /// The communicator of ranks[0 … count-1], in this order, of which this rank is one; null where a
  /// group is made of one of the host communicator.
  Failure (*group)(void* communicator, const int* ranks, int count, ProviderHandle& result);
  Failure (*barrier)(void* communicator, void* stream);
  Failure (*all_reduce)(void* communicator, const Tensor& send, const Tensor& recv, Reduction,
                        void* stream);
  Failure (*reduce_scatter)(void* communicator, const Tensor& send, const Tensor& recv, Reduction,
                            void* stream);
  Failure (*broadcast)(void* communicator, const Tensor& data, int root, void* stream);
  Failure (*all_gather)(void* communicator, const Tensor& send, const Tensor& recv, void* stream);
  Failure (*all_to_all)(void* communicator, const Tensor& send, const Tensor& recv, void* stream);
  /// `counts` and the like hold one number of elements per rank.
  Failure (*all_gather_v)(void* communicator, const Tensor& send, const Tensor& recv,
                          const std::int64_t* counts, void* stream);
  Failure (*all_to_all_v)(void* communicator, const Tensor& send, const std::int64_t* send_counts,
                          const Tensor& recv, const std::int64_t* recv_counts, void* stream);
  /// Starts all of them; `request` is for finish.
  Failure (*start)(void* communicator, const Message* messages, int count, void* stream,
                   void** request);
  /// Waits for it, or looks whether it has ended; it is gone once `done` or an error is returned.
  Failure (*finish)(void* communicator, void* request, bool wait, bool& done);
};

}  // namespace paceline::kernels
