// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/nccl.hpp"

#include <cuda_runtime.h>

#include "base/error.hpp"
#include "kernels/backend.hpp"
#include "kernels/collective/nccl_api.hpp"

namespace paceline::kernels {
namespace {

struct Member {
  ncclComm_t comm = nullptr;
  int rank = 0, size = 1;
};

Member& member(void* communicator) { return *static_cast<Member*>(communicator); }
ncclComm_t native(void* communicator) { return member(communicator).comm; }
cudaStream_t on(void* stream) { return static_cast<cudaStream_t>(stream); }

Failure checked(ncclResult_t result, ncclComm_t comm) {
  if (result == ncclSuccess) return nullptr;
  const NcclApi& api = nccl_api();
  std::string text = api.GetErrorString(result);
  const char* more = api.GetLastError == nullptr ? nullptr : api.GetLastError(comm);
  if (more != nullptr && *more != '\0') text += std::string(" (") + more + ")";
  return fail(text);
}

Failure checked(cudaError_t status) {
  return status == cudaSuccess ? nullptr : fail(cudaGetErrorString(status));
}

ncclDataType_t type_of(DType type) {
  switch (type) {
    case DType::F32:
      return ncclFloat32;
    case DType::Bf16:
      return ncclBfloat16;
    case DType::F16:
      return ncclFloat16;
    case DType::I32:
      return ncclInt32;
    case DType::U32:
      return ncclUint32;
    case DType::E4m3:
    case DType::E5m2:
    case DType::U8:
      break;
  }
  return ncclUint8;
}

ncclRedOp_t operation_of(Reduction how) { return how == Reduction::Sum ? ncclSum : ncclMax; }
std::size_t number(std::int64_t count) { return static_cast<std::size_t>(count); }
std::byte* at(const Tensor& t, std::int64_t i) {
  return t.as<std::byte>() + number(i) * bytes_of(t.type);
}

/// Calls of one group start together: none waits for another.
template <class Calls>
Failure together(void* communicator, const Calls& calls) {
  const ncclComm_t comm = native(communicator);
  if (const Failure failure = checked(nccl_api().GroupStart(), comm)) return failure;
  ncclResult_t first = calls();
  const ncclResult_t end = nccl_api().GroupEnd();
  if (first == ncclSuccess) first = end;
  return checked(first, comm);
}

void release(void* communicator) {
  nccl_api().CommDestroy(native(communicator));
  delete &member(communicator);
}

Failure barrier(void*, void* stream) { return checked(cudaStreamSynchronize(on(stream))); }

Failure all_reduce(void* c, const Tensor& send, const Tensor& recv, Reduction how, void* stream) {
  return checked(nccl_api().AllReduce(send.data, recv.data, number(send.count), type_of(send.type),
                                      operation_of(how), native(c), on(stream)),
                 native(c));
}

Failure reduce_scatter(void* c, const Tensor& send, const Tensor& recv, Reduction how,
                       void* stream) {
  return checked(
      nccl_api().ReduceScatter(send.data, recv.data, number(recv.count), type_of(send.type),
                               operation_of(how), native(c), on(stream)),
      native(c));
}

Failure broadcast(void* c, const Tensor& data, int root, void* stream) {
  return checked(nccl_api().Broadcast(data.data, data.data, number(data.count), type_of(data.type),
                                      root, native(c), on(stream)),
                 native(c));
}

Failure all_gather(void* c, const Tensor& send, const Tensor& recv, void* stream) {
  return checked(nccl_api().AllGather(send.data, recv.data, number(send.count), type_of(send.type),
                                      native(c), on(stream)),
                 native(c));
}

/// NCCL has none of its own: every part is a broadcast.
Failure all_gather_v(void* c, const Tensor& send, const Tensor& recv, const std::int64_t* counts,
                     void* stream) {
  return together(c, [&] {
    ncclResult_t result = ncclSuccess;
    std::int64_t start = 0;
    for (int r = 0; r < member(c).size && result == ncclSuccess; start += counts[r++]) {
      if (counts[r] == 0) continue;
      const void* from = r == member(c).rank ? send.data : at(recv, start);
      result = nccl_api().Broadcast(from, at(recv, start), number(counts[r]), type_of(send.type), r,
                                    native(c), on(stream));
    }
    return result;
  });
}

Failure all_to_all_v(void* c, const Tensor& send, const std::int64_t* send_counts,
                     const Tensor& recv, const std::int64_t* recv_counts, void* stream) {
  return together(c, [&] {
    ncclResult_t result = ncclSuccess;
    std::int64_t out = 0, in = 0;
    for (int r = 0; r < member(c).size && result == ncclSuccess; ++r) {
      if (send_counts[r] > 0)
        result = nccl_api().Send(at(send, out), number(send_counts[r]), type_of(send.type), r,
                                 native(c), on(stream));
      if (recv_counts[r] > 0 && result == ncclSuccess)
        result = nccl_api().Recv(at(recv, in), number(recv_counts[r]), type_of(recv.type), r,
                                 native(c), on(stream));
      out += send_counts[r];
      in += recv_counts[r];
    }
    return result;
  });
}

Failure all_to_all(void* c, const Tensor& send, const Tensor& recv, void* stream) {
  const int n = member(c).size;
  const std::vector<std::int64_t> counts(number(n), send.count / n);
  return all_to_all_v(c, send, counts.data(), recv, counts.data(), stream);
}

/// A request is the event behind its messages.
Failure start_messages(void* c, const Message* messages, int count, void* stream, void** request) {
  const Failure failure = together(c, [&] {
    ncclResult_t result = ncclSuccess;
    for (const Message* m = messages; m != messages + count && result == ncclSuccess; ++m) {
      const std::size_t n = number(m->data.count);
      const ncclDataType_t type = type_of(m->data.type);
      result = m->sends ? nccl_api().Send(m->data.data, n, type, m->peer, native(c), on(stream))
                        : nccl_api().Recv(m->data.data, n, type, m->peer, native(c), on(stream));
    }
    return result;
  });
  if (failure != nullptr) return failure;
  cudaEvent_t event = nullptr;
  if (const Failure bad = checked(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)))
    return bad;
  *request = event;
  return checked(cudaEventRecord(event, on(stream)));
}

Failure finish_messages(void*, void* request, bool wait, bool& done) {
  const auto event = static_cast<cudaEvent_t>(request);
  const cudaError_t status = wait ? cudaEventSynchronize(event) : cudaEventQuery(event);
  done = status == cudaSuccess;
  if (status == cudaErrorNotReady) return nullptr;
  cudaEventDestroy(event);
  return checked(status);
}

constexpr Provider kNccl{"nccl",         release,        nullptr,        barrier,    all_reduce,
                         reduce_scatter, broadcast,      all_gather,     all_to_all, all_gather_v,
                         all_to_all_v,   start_messages, finish_messages};

}  // namespace

Communicator nccl_communicator(Communicator host) {
  const NcclApi& api = nccl_api();
  cuda_backend();  // throws without a driver or a device
  ncclUniqueId id{};
  Failure failure = nullptr;
  if (host.rank() == 0) failure = checked(api.GetUniqueId(&id), nullptr);
  if (failure != nullptr) throw base::Error("nccl", failure);
  broadcast(host, {&id, DType::U8, sizeof id}, 0);
  auto made = std::make_unique<Member>(Member{nullptr, host.rank(), host.size()});
  failure = checked(api.CommInitRank(&made->comm, host.size(), id, host.rank()), nullptr);
  if (failure != nullptr)
    throw base::Error("nccl", failure, "every rank needs a device of its own");
  Communicator result(kNccl, {made.release(), host.rank(), host.size()});
  result.set_host(std::make_shared<const Communicator>(std::move(host)), nccl_communicator);
  return result;
}

}  // namespace paceline::kernels
