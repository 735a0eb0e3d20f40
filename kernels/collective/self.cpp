// SPDX-License-Identifier: Apache-2.0
// One rank: what it gives it gets. Messages to itself meet by tag, in the order in which they
// start.
#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "kernels/collective/communicator.hpp"

namespace paceline::kernels {
namespace {

struct Receive {
  Tensor data;
  int tag = 0;
  bool ended = false;
  bool fits = true;
};
struct Sent {
  std::vector<std::byte> bytes;
  int tag = 0;
};

/// A request is the list of receives it waits for; messages are copied when they are sent.
using Receives = std::list<Receive>;
struct Self {
  std::list<Sent> sent;
  std::list<Receive*> open;
};

std::size_t size_of(const Tensor& t) {
  return static_cast<std::size_t>(t.count) * bytes_of(t.type);
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (to != from && bytes > 0) std::memmove(to, from, bytes);
}

Failure copy_tensor(void*, const Tensor& send, const Tensor& recv, void*) {
  copy(recv.data, send.data, size_of(send));
  return nullptr;
}

Failure reduce_tensor(void*, const Tensor& send, const Tensor& recv, Reduction, void*) {
  copy(recv.data, send.data, size_of(send));
  return nullptr;
}

void deliver(Receive& to, const std::vector<std::byte>& from) {
  to.fits = from.size() <= size_of(to.data);
  to.ended = true;
  if (to.fits) copy(to.data.data, from.data(), from.size());
}

void send_one(Self& self, const Message& m) {
  const auto* data = static_cast<const std::byte*>(m.data.data);
  std::vector<std::byte> bytes(data, data + size_of(m.data));
  const auto waiting = std::find_if(self.open.begin(), self.open.end(),
                                    [&](const Receive* r) { return r->tag == m.tag; });
  if (waiting == self.open.end()) {
    self.sent.push_back({std::move(bytes), m.tag});
    return;
  }
  deliver(**waiting, bytes);
  self.open.erase(waiting);
}

void receive_one(Self& self, Receive& receive) {
  const auto there = std::find_if(self.sent.begin(), self.sent.end(),
                                  [&](const Sent& s) { return s.tag == receive.tag; });
  if (there == self.sent.end()) {
    self.open.push_back(&receive);
    return;
  }
  deliver(receive, there->bytes);
  self.sent.erase(there);
}

Failure start_messages(void* communicator, const Message* messages, int count, void*,
                       void** request) {
  auto& self = *static_cast<Self*>(communicator);
  auto* receives = new Receives;
  *request = receives;
  for (const Message* m = messages; m != messages + count; ++m) {
    if (m->sends) {
      send_one(self, *m);
    } else {
      receives->push_back({m->data, m->tag});
      receive_one(self, receives->back());
    }
  }
  return nullptr;
}

Failure finish_messages(void* communicator, void* request, bool wait, bool& done) {
  auto* receives = static_cast<Receives*>(request);
  done = std::all_of(receives->begin(), receives->end(), [](const auto& r) { return r.ended; });
  if (!done && !wait) return nullptr;
  const bool fit = std::all_of(receives->begin(), receives->end(), [](auto& r) { return r.fits; });
  static_cast<Self*>(communicator)->open.remove_if([&](const Receive* open) {
    return std::any_of(receives->begin(), receives->end(), [&](auto& r) { return &r == open; });
  });
  delete receives;
  if (!done) return "waits for a message to itself that was never sent";
  return fit ? nullptr : "the message is longer than the tensor that receives it";
}

Failure group_of_one(void*, const int*, int, ProviderHandle& result) {
  result = {new Self, 0, 1};
  return nullptr;
}

const Provider kSelf{
    "self",
    [](void* communicator) { delete static_cast<Self*>(communicator); },
    group_of_one,
    [](void*, void*) { return Failure{nullptr}; },
    reduce_tensor,
    reduce_tensor,
    [](void*, const Tensor&, int, void*) { return Failure{nullptr}; },
    copy_tensor,
    copy_tensor,
    [](void*, const Tensor& send, const Tensor& recv, const std::int64_t*, void*) {
      return copy_tensor(nullptr, send, recv, nullptr);
    },
    [](void*, const Tensor& send, const std::int64_t*, const Tensor& recv, const std::int64_t*,
       void*) { return copy_tensor(nullptr, send, recv, nullptr); },
    start_messages,
    finish_messages};

}  // namespace

Communicator self_communicator() { return {kSelf, {new Self, 0, 1}}; }

}  // namespace paceline::kernels
