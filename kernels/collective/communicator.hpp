// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/collective/provider.hpp"
#include "kernels/stream.hpp"

/// Collectives and messages between ranks, one interface for every provider:
/// - self: one rank, no library;
/// - mpi: tensors in the processor's memory, the operation is complete when the function returns;
/// - nccl: tensors in the current device's memory, the operation is enqueued on `stream` and
///   complete when the stream has come past it.
/// All members call the same functions in the same order with fitting arguments. An argument that
/// is wrong by itself stops the program (PACELINE_CHECK); what the library complains of, a message
/// longer than its receiver for example, is a base::Error. Tensors must not overlap unless said so;
/// their data may be null when they have no elements.
namespace paceline::kernels {

/// Some ranks, numbered 0 … size-1, that communicate with each other.
class Communicator {
 public:
  Communicator(const Provider& provider, const ProviderHandle& handle)
      : provider_(&provider),
        handle_(handle.communicator, provider.release),
        rank_(handle.rank),
        size_(handle.size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  const Provider& provider() const { return *provider_; }
  void* handle() const { return handle_.get(); }
  /// The same ranks for values in the processor's memory: of NCCL the communicator it was made of,
  /// of all others this one.
  const Communicator& host() const { return host_ ? *host_ : *this; }
  using Remake = Communicator (*)(Communicator host);
  /// What makes one of this kind of a group of the host's ranks; null where the provider does.
  Remake remake() const { return remake_; }
  void set_host(std::shared_ptr<const Communicator> ranks, Remake how) {
    host_ = std::move(ranks);
    remake_ = how;
  }

 private:
  const Provider* provider_;
  std::shared_ptr<const Communicator> host_;  // outlives the handle
  Remake remake_ = nullptr;
  std::unique_ptr<void, void (*)(void*)> handle_;
  int rank_, size_;
};

/// This process alone.
Communicator self_communicator();
/// All ranks that were started together (ranks.hpp): MPI's world, or this process alone when nobody
/// started it with others. base::MissingError without MPI, base::Error where the launcher's number
/// of ranks and MPI's differ.
Communicator world_communicator();

/// The members `ranks` of the communicator, which become 0, 1, … in this order; called by them
/// only. base::Error when a rank is not one or stands there twice, or this one is not among them.
Communicator group(const Communicator& of, std::span<const int> ranks);

/// recv[i] = sum or maximum over all ranks of send[i]. `send` and `recv` may be the same tensor.
/// f32, bf16, f16, u8, i32 and u32; small floats are rounded after every addition.
void all_reduce(const Communicator&, const Tensor& send, const Tensor& recv,
                Reduction = Reduction::Sum, Stream = {});
/// recv = send of rank 0, of rank 1, …: recv.count = size * send.count. `send` may be its own part
/// of `recv`.
void all_gather(const Communicator&, const Tensor& send, const Tensor& recv, Stream = {});
/// The same with counts[r] elements from rank r.
void all_gather_v(const Communicator&, const Tensor& send, const Tensor& recv,
                  std::span<const std::int64_t> counts, Stream = {});
/// recv = part `rank` of the sum or maximum over all ranks of `send`: send.count = size *
/// recv.count. `recv` may be its own part of `send`, whose other parts are then undefined.
void reduce_scatter(const Communicator&, const Tensor& send, const Tensor& recv,
                    Reduction = Reduction::Sum, Stream = {});
/// data = data of rank `root`.
void broadcast(const Communicator&, const Tensor& data, int root, Stream = {});
/// Part r of `send` goes to rank r, where it is part `rank` of `recv`: equal parts.
void all_to_all(const Communicator&, const Tensor& send, const Tensor& recv, Stream = {});
/// The same with send_counts[r] elements to and recv_counts[r] from rank r, parts one after
/// another.
void all_to_all_v(const Communicator&, const Tensor& send,
                  std::span<const std::int64_t> send_counts, const Tensor& recv,
                  std::span<const std::int64_t> recv_counts, Stream = {});

/// Messages under way. To be waited for, or found done, while its tensors and its communicator are
/// there: a message cannot be taken back. One that is dropped earlier is left to itself.
class Request {
 public:
  Request() = default;  ///< nothing: done
  Request(const Communicator& of, void* handle)
      : provider_(&of.provider()), communicator_(of.handle()), handle_(handle) {}
  Request(Request&& other) noexcept { *this = std::move(other); }
  Request& operator=(Request&& other) noexcept {
    provider_ = std::exchange(other.provider_, nullptr);
    communicator_ = other.communicator_;
    handle_ = other.handle_;
    return *this;
  }
  ~Request() = default;

 private:
  friend bool done(Request&);
  friend void wait(Request&);
  bool finish(bool wait);
  const Provider* provider_ = nullptr;  ///< null: done
  void* communicator_ = nullptr;
  void* handle_ = nullptr;
};

/// Starts all messages together: they cannot wait for each other. Ranks may send to themselves.
Request start(const Communicator&, std::span<const Message> messages, Stream = {});
Request isend(const Communicator&, const Tensor& data, int to, int tag = 0, Stream = {});
Request irecv(const Communicator&, const Tensor& data, int from, int tag = 0, Stream = {});
/// Whether it has ended; MPI's messages proceed while someone looks or waits.
bool done(Request&);
void wait(Request&);

/// With mpi, `send` returns once `data` may be changed; it may wait until the receiver is there.
void send(const Communicator&, const Tensor& data, int to, int tag = 0, Stream = {});
void recv(const Communicator&, const Tensor& data, int from, int tag = 0, Stream = {});

/// Waits until all ranks are here, and with nccl for this rank's stream.
void barrier(const Communicator&, Stream = {});

/// `value` of every rank, by rank.
std::vector<double> gather_values(const Communicator&, double value);

}  // namespace paceline::kernels
