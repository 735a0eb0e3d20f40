// SPDX-License-Identifier: Apache-2.0
// The only file that knows MPI, built as a module. It throws nothing and links nothing of ours.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "kernels/collective/mpi_module.hpp"

#include <mpi.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/collective/reduce.hpp"

namespace paceline::kernels {
namespace {

Failure checked(int status) {
  if (status == MPI_SUCCESS) return nullptr;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  return fail({text, static_cast<std::size_t>(length)});
}

MPI_Comm native(void* communicator) { return *static_cast<MPI_Comm*>(communicator); }

MPI_Datatype type_of(DType type) {
  switch (type) {
    case DType::F32:
      return MPI_FLOAT;
    case DType::Bf16:
    case DType::F16:
      return MPI_UINT16_T;  // reduced by operations of our own
    case DType::I32:
      return MPI_INT32_T;
    case DType::U32:
      return MPI_UINT32_T;
    case DType::E4m3:
    case DType::E5m2:
    case DType::U8:
      break;
  }
  return MPI_UINT8_T;
}

std::size_t size_of(DType type) {
  int bytes = 0;
  MPI_Type_size(type_of(type), &bytes);
  return static_cast<std::size_t>(bytes);
}

template <class Float, Reduction How>
void float_operation(void* in, void* inout, int* count, MPI_Datatype*) {
  reduce_into(static_cast<const Float*>(in), static_cast<Float*>(inout),
              static_cast<std::size_t>(*count), How);
}

MPI_Op made(MPI_User_function* function) {
  MPI_Op operation = MPI_OP_NULL;
  MPI_Op_create(function, 1, &operation);
  return operation;
}

MPI_Op operation_of(DType type, Reduction how) {
  using numeric::bf16, numeric::fp16;
  static const MPI_Op own[] = {
      made(float_operation<bf16, Reduction::Sum>), made(float_operation<bf16, Reduction::Max>),
      made(float_operation<fp16, Reduction::Sum>), made(float_operation<fp16, Reduction::Max>)};
  const bool sum = how == Reduction::Sum;
  if (type == DType::Bf16) return own[sum ? 0 : 1];
  if (type == DType::F16) return own[sum ? 2 : 3];
  return sum ? MPI_SUM : MPI_MAX;
}

/// MPI counts in int.
Failure too_long(std::int64_t count) {
  if (count <= INT_MAX) return nullptr;
  return fail("moves at most 2147483647 elements per rank at a time, not " + std::to_string(count));
}
int number(std::int64_t count) { return static_cast<int>(count); }

std::byte* bytes_at(const Tensor& t, std::int64_t element) {
  return t.as<std::byte>() + static_cast<std::size_t>(element) * size_of(t.type);
}

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}
int size_in(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

ProviderHandle handle_of(MPI_Comm communicator) {
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  return {new MPI_Comm(communicator), rank_in(communicator), size_in(communicator)};
}

void release(void* communicator) {
  int over = 0;
  MPI_Finalized(&over);
  auto* own = static_cast<MPI_Comm*>(communicator);
  if (over == 0) MPI_Comm_free(own);
  delete own;
}

Failure group(void* communicator, const int* ranks, int count, ProviderHandle& result) {
  MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  MPI_Comm made_one = MPI_COMM_NULL;
  Failure failure = checked(MPI_Comm_group(native(communicator), &all));
  if (failure == nullptr) failure = checked(MPI_Group_incl(all, count, ranks, &members));
  if (failure == nullptr)
    failure = checked(MPI_Comm_create_group(native(communicator), members, 0, &made_one));
  if (members != MPI_GROUP_NULL) MPI_Group_free(&members);
  if (all != MPI_GROUP_NULL) MPI_Group_free(&all);
  if (failure == nullptr) result = handle_of(made_one);
  return failure;
}

Failure barrier(void* communicator, void*) { return checked(MPI_Barrier(native(communicator))); }

Failure all_reduce(void* communicator, const Tensor& send, const Tensor& recv, Reduction how,
                   void*) {
  if (const Failure failure = too_long(send.count)) return failure;
  return checked(MPI_Allreduce(send.data == recv.data ? MPI_IN_PLACE : send.data, recv.data,
                               number(send.count), type_of(send.type), operation_of(send.type, how),
                               native(communicator)));
}

Failure reduce_scatter(void* communicator, const Tensor& send, const Tensor& recv, Reduction how,
                       void*) {
  if (const Failure failure = too_long(recv.count)) return failure;
  const auto run = [&](void* to) {
    return checked(MPI_Reduce_scatter_block(send.data, to, number(recv.count), type_of(send.type),
                                            operation_of(send.type, how), native(communicator)));
  };
  const auto* to = recv.as<std::byte>();
  const bool inside = to >= bytes_at(send, 0) && to < bytes_at(send, send.count);
  if (!inside) return run(recv.data);
  std::vector<std::byte> result(static_cast<std::size_t>(recv.count) * size_of(recv.type));
  const Failure failure = run(result.data());
  std::memcpy(recv.data, result.data(), result.size());
  return failure;
}

Failure broadcast(void* communicator, const Tensor& data, int root, void*) {
  if (const Failure failure = too_long(data.count)) return failure;
  return checked(
      MPI_Bcast(data.data, number(data.count), type_of(data.type), root, native(communicator)));
}

const void* own_or_in_place(const Tensor& send, const std::byte* own_part) {
  return send.data == own_part ? MPI_IN_PLACE : send.data;
}

Failure all_gather(void* communicator, const Tensor& send, const Tensor& recv, void*) {
  if (const Failure failure = too_long(send.count)) return failure;
  const MPI_Comm comm = native(communicator);
  return checked(MPI_Allgather(own_or_in_place(send, bytes_at(recv, send.count * rank_in(comm))),
                               number(send.count), type_of(send.type), recv.data,
                               number(send.count), type_of(send.type), comm));
}

Failure all_to_all(void* communicator, const Tensor& send, const Tensor& recv, void*) {
  if (const Failure failure = too_long(send.count)) return failure;
  const MPI_Comm comm = native(communicator);
  const int part = number(send.count / size_in(comm));
  return checked(
      MPI_Alltoall(send.data, part, type_of(send.type), recv.data, part, type_of(send.type), comm));
}

/// Counts as MPI takes them, and where each part starts.
struct Parts {
  std::vector<int> counts, starts;
  Parts(const std::int64_t* sizes, int ranks) {
    for (int r = 0, start = 0; r < ranks; start += number(sizes[r++])) {
      counts.push_back(number(sizes[r]));
      starts.push_back(start);
    }
  }
};

Failure all_gather_v(void* communicator, const Tensor& send, const Tensor& recv,
                     const std::int64_t* sizes, void*) {
  if (const Failure failure = too_long(recv.count)) return failure;
  const MPI_Comm comm = native(communicator);
  const Parts parts(sizes, size_in(comm));
  const int own = parts.starts[static_cast<std::size_t>(rank_in(comm))];
  return checked(MPI_Allgatherv(own_or_in_place(send, bytes_at(recv, own)), number(send.count),
                                type_of(send.type), recv.data, parts.counts.data(),
                                parts.starts.data(), type_of(send.type), comm));
}

Failure all_to_all_v(void* communicator, const Tensor& send, const std::int64_t* send_sizes,
                     const Tensor& recv, const std::int64_t* recv_sizes, void*) {
  if (const Failure failure = too_long(std::max(send.count, recv.count))) return failure;
  const MPI_Comm comm = native(communicator);
  const Parts out(send_sizes, size_in(comm)), in(recv_sizes, size_in(comm));
  return checked(MPI_Alltoallv(send.data, out.counts.data(), out.starts.data(), type_of(send.type),
                               recv.data, in.counts.data(), in.starts.data(), type_of(send.type),
                               comm));
}

using Requests = std::vector<MPI_Request>;

Failure start_one(MPI_Comm comm, const Message& m, MPI_Request& request) {
  if (const Failure failure = too_long(m.data.count)) return failure;
  const int count = number(m.data.count);
  const MPI_Datatype type = type_of(m.data.type);
  return checked(m.sends ? MPI_Isend(m.data.data, count, type, m.peer, m.tag, comm, &request)
                         : MPI_Irecv(m.data.data, count, type, m.peer, m.tag, comm, &request));
}

Failure start_messages(void* communicator, const Message* messages, int count, void*,
                       void** request) {
  auto* requests = new Requests(static_cast<std::size_t>(count), MPI_REQUEST_NULL);
  *request = requests;
  // Receives first: what arrives finds its place.
  for (const bool sends : {false, true})
    for (int i = 0; i < count; ++i)
      if (messages[i].sends == sends)
        if (const Failure failure = start_one(native(communicator), messages[i],
                                              (*requests)[static_cast<std::size_t>(i)]))
          return failure;
  return nullptr;
}

Failure finish_messages(void*, void* request, bool wait, bool& done) {
  auto* requests = static_cast<Requests*>(request);
  std::vector<MPI_Status> statuses(requests->size());
  const int count = static_cast<int>(requests->size());
  int ended = 1;
  int status = wait ? MPI_Waitall(count, requests->data(), statuses.data())
                    : MPI_Testall(count, requests->data(), &ended, statuses.data());
  if (status == MPI_ERR_IN_STATUS)
    for (const MPI_Status& one : statuses)
      if (one.MPI_ERROR != MPI_SUCCESS && one.MPI_ERROR != MPI_ERR_PENDING) status = one.MPI_ERROR;
  done = ended != 0;
  if (done || status != MPI_SUCCESS) delete requests;
  return checked(status);
}

constexpr Provider kProvider{
    "mpi",      release,    group,        barrier,      all_reduce,     reduce_scatter, broadcast,
    all_gather, all_to_all, all_gather_v, all_to_all_v, start_messages, finish_messages};

/// srun lets the other ranks wait for one that failed; mpirun ends them.
bool launcher_leaves_others() {
  return std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

void end(int status, void* abort) {
  int over = 0;
  MPI_Finalized(&over);
  if (over != 0) return;
  if (status == 0) MPI_Finalize();
  if (status != 0 && abort != nullptr) MPI_Abort(MPI_COMM_WORLD, status);
}

Failure start_mpi(ProviderHandle& world) {
  int started = 0;
  MPI_Initialized(&started);
  if (started == 0) {
    static char yes = 0;
    on_exit(end, launcher_leaves_others() ? &yes : nullptr);
    int level = MPI_THREAD_SINGLE;
    if (const Failure failure =
            checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level)))
      return failure;
    if (level < MPI_THREAD_MULTIPLE) return fail("cannot be used by several threads");
  }
  MPI_Comm own = MPI_COMM_NULL;
  if (const Failure failure = checked(MPI_Comm_dup(MPI_COMM_WORLD, &own))) return failure;
  world = handle_of(own);
  return nullptr;
}

const char* library_name() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  for (char* c = text; *c != 0; ++c)  // Open MPI: "Open MPI v4.1.4, package: …"
    if (*c == ',' || *c == '\n') *c = 0;
  return text;
}

}  // namespace
}  // namespace paceline::kernels

extern "C" const paceline::kernels::MpiModule* paceline_mpi() {
  using namespace paceline::kernels;
  static const MpiModule module{kMpiModuleBytes, library_name(), &kProvider, start_mpi};
  return &module;
}
