// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/communicator.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace paceline::kernels {
namespace {

void require(const Provider& provider, const char* operation, Failure failure) {
  if (failure == nullptr) return;
  throw base::Error(provider.name, std::string(operation) + ": " + failure);
}

bool sound(const Tensor& t) { return t.count >= 0 && (t.data != nullptr || t.count == 0); }

void check_pair(const Tensor& send, const Tensor& recv) {
  PACELINE_CHECK(sound(send) && sound(recv) && send.type == recv.type);
}

void check_reducible(DType type) { PACELINE_CHECK(type != DType::E4m3 && type != DType::E5m2); }

/// One count per rank, none below 0, that add up to the tensor's.
void check_parts(const Communicator& c, std::span<const std::int64_t> counts, const Tensor& whole) {
  PACELINE_CHECK(counts.size() == static_cast<std::size_t>(c.size()));
  PACELINE_CHECK(std::all_of(counts.begin(), counts.end(), [](auto n) { return n >= 0; }));
  PACELINE_CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == whole.count);
}

void check_rank(const Communicator& c, int rank) { PACELINE_CHECK(rank >= 0 && rank < c.size()); }

}  // namespace

Communicator group(const Communicator& of, std::span<const int> ranks) {
  const auto fail = [](const std::string& what) { throw base::Error("group of ranks", what); };
  std::vector<bool> seen(static_cast<std::size_t>(of.size()));
  for (const int rank : ranks) {
    if (rank < 0 || rank >= of.size())
      fail("there is no rank " + std::to_string(rank) + " among " + std::to_string(of.size()));
    if (seen[static_cast<std::size_t>(rank)])
      fail("rank " + std::to_string(rank) + " stands there twice");
    seen[static_cast<std::size_t>(rank)] = true;
  }
  if (!seen[static_cast<std::size_t>(of.rank())])
    fail("rank " + std::to_string(of.rank()) + " makes one that it is not in");
  if (of.remake() != nullptr) return of.remake()(group(of.host(), ranks));
  ProviderHandle handle;
  require(of.provider(), "group",
          of.provider().group(of.handle(), ranks.data(), static_cast<int>(ranks.size()), handle));
  return {of.provider(), handle};
}

void all_reduce(const Communicator& c, const Tensor& send, const Tensor& recv, Reduction reduction,
                Stream stream) {
  check_pair(send, recv);
  check_reducible(send.type);
  PACELINE_CHECK(send.count == recv.count);
  require(c.provider(), "all_reduce",
          c.provider().all_reduce(c.handle(), send, recv, reduction, stream.handle));
}

void all_gather(const Communicator& c, const Tensor& send, const Tensor& recv, Stream stream) {
  check_pair(send, recv);
  PACELINE_CHECK(recv.count == send.count * c.size());
  require(c.provider(), "all_gather",
          c.provider().all_gather(c.handle(), send, recv, stream.handle));
}

void all_gather_v(const Communicator& c, const Tensor& send, const Tensor& recv,
                  std::span<const std::int64_t> counts, Stream stream) {
  check_pair(send, recv);
  check_parts(c, counts, recv);
  PACELINE_CHECK(send.count == counts[static_cast<std::size_t>(c.rank())]);
  require(c.provider(), "all_gather_v",
          c.provider().all_gather_v(c.handle(), send, recv, counts.data(), stream.handle));
}

void reduce_scatter(const Communicator& c, const Tensor& send, const Tensor& recv,
                    Reduction reduction, Stream stream) {
  check_pair(send, recv);
  check_reducible(send.type);
  PACELINE_CHECK(send.count == recv.count * c.size());
  require(c.provider(), "reduce_scatter",
          c.provider().reduce_scatter(c.handle(), send, recv, reduction, stream.handle));
}

void broadcast(const Communicator& c, const Tensor& data, int root, Stream stream) {
  PACELINE_CHECK(sound(data));
  check_rank(c, root);
  require(c.provider(), "broadcast", c.provider().broadcast(c.handle(), data, root, stream.handle));
}

void all_to_all(const Communicator& c, const Tensor& send, const Tensor& recv, Stream stream) {
  check_pair(send, recv);
  PACELINE_CHECK(send.count == recv.count && send.count % c.size() == 0);
  require(c.provider(), "all_to_all",
          c.provider().all_to_all(c.handle(), send, recv, stream.handle));
}

void all_to_all_v(const Communicator& c, const Tensor& send,
                  std::span<const std::int64_t> send_counts, const Tensor& recv,
                  std::span<const std::int64_t> recv_counts, Stream stream) {
  check_pair(send, recv);
  check_parts(c, send_counts, send);
  check_parts(c, recv_counts, recv);
  require(c.provider(), "all_to_all_v",
          c.provider().all_to_all_v(c.handle(), send, send_counts.data(), recv, recv_counts.data(),
                                    stream.handle));
}

Request start(const Communicator& c, std::span<const Message> messages, Stream stream) {
  for (const Message& m : messages) {
    PACELINE_CHECK(sound(m.data) && m.tag >= 0 && m.tag <= 32767);
    check_rank(c, m.peer);
  }
  void* request = nullptr;
  require(c.provider(), "message",
          c.provider().start(c.handle(), messages.data(), static_cast<int>(messages.size()),
                             stream.handle, &request));
  return {c, request};
}

Request isend(const Communicator& c, const Tensor& data, int to, int tag, Stream stream) {
  const Message message{data, to, true, tag};
  return start(c, {&message, 1}, stream);
}

Request irecv(const Communicator& c, const Tensor& data, int from, int tag, Stream stream) {
  const Message message{data, from, false, tag};
  return start(c, {&message, 1}, stream);
}

bool Request::finish(bool wait) {
  if (provider_ == nullptr) return true;
  bool ended = false;
  const Provider& provider = *provider_;
  const Failure failure = provider.finish(communicator_, handle_, wait, ended);
  if (ended || failure != nullptr) provider_ = nullptr;
  require(provider, "message", failure);
  return ended;
}

bool done(Request& request) { return request.finish(false); }

void wait(Request& request) { PACELINE_CHECK(request.finish(true)); }

void send(const Communicator& c, const Tensor& data, int to, int tag, Stream stream) {
  Request request = isend(c, data, to, tag, stream);
  wait(request);
}

void recv(const Communicator& c, const Tensor& data, int from, int tag, Stream stream) {
  Request request = irecv(c, data, from, tag, stream);
  wait(request);
}

void barrier(const Communicator& c, Stream stream) {
  require(c.provider(), "barrier", c.provider().barrier(c.handle(), stream.handle));
  if (&c.host() != &c) barrier(c.host());
}

std::vector<double> gather_values(const Communicator& c, double value) {
  std::vector<double> values(static_cast<std::size_t>(c.size()));
  constexpr std::int64_t kBytes = sizeof(double);
  all_gather(c.host(), {&value, DType::U8, kBytes}, {values.data(), DType::U8, kBytes * c.size()});
  return values;
}

}  // namespace paceline::kernels
