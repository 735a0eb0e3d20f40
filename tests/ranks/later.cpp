// SPDX-License-Identifier: Apache-2.0
#include "tests/ranks/later.hpp"

#include <sched.h>

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"

namespace paceline::tests {
namespace {

using namespace kernels;
using Clock = std::chrono::steady_clock;

/// Done when it returns true; until then what stands behind it waits.
using Piece = std::function<bool()>;
using Queue = std::deque<Piece>;
std::list<Queue>& streams() {
  static std::list<Queue> all;
  return all;
}
Queue& queue(void* stream) { return *static_cast<Queue*>(stream); }
void put(void* stream, Piece piece) { queue(stream).push_back(std::move(piece)); }

Stream make_stream() { return {&streams().emplace_back()}; }
void drop_stream(Stream stream) {
  streams().remove_if([&](const Queue& q) { return &q == stream.handle; });
}

bool advance(Queue& pieces) {
  bool moved = false;
  while (!pieces.empty() && pieces.front()()) {
    pieces.pop_front();
    moved = true;
  }
  return moved;
}

void wait(Stream stream) {
  const Clock::time_point start = Clock::now();
  while (!queue(stream.handle).empty()) {
    bool moved = false;
    for (auto q = streams().rbegin(); q != streams().rend(); ++q) moved = advance(*q) || moved;
    if (moved) continue;
    sched_yield();
    if (Clock::now() - start > std::chrono::seconds(20))
      throw base::Error("streams wait in a circle");
  }
}

struct Moment {
  int recorded = 0, happened = 0;  ///< how often
  Clock::time_point when;
};
Moment& moment(Event event) { return *static_cast<Moment*>(event.handle); }

void record(Event event, Stream stream) {
  put(stream.handle, [m = &moment(event), number = ++moment(event).recorded] {
    m->happened = number;
    m->when = Clock::now();
    return true;
  });
}

/// For the event as it was recorded last, if it was.
void await(Stream stream, Event event) {
  put(stream.handle,
      [m = &moment(event), number = moment(event).recorded] { return m->happened >= number; });
}

double seconds_between(Event from, Event to) {
  if (moment(from).happened == 0 || moment(to).happened == 0)
    throw base::Error("an event that was not recorded");
  return std::chrono::duration<double>(moment(to).when - moment(from).when).count();
}

void idle(double seconds, Stream stream) {
  put(stream.handle, [seconds, until = std::optional<Clock::time_point>()]() mutable {
    const std::chrono::duration<double> time(seconds);
    if (!until) until = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
    return Clock::now() >= *until;
  });
}

Backend make_backend() {
  Backend backend = cpu_backend();
  backend.name = "later";
  backend.make_stream = make_stream;
  backend.drop_stream = drop_stream;
  backend.wait = wait;
  backend.run = [](const Operation& operation, const Call& call, Stream stream) {
    put(stream.handle, [&operation, call] {
      operation.cpu(call);
      return true;
    });
  };
  backend.enqueues = true;
  backend.events = {[] { return Event{new Moment}; }, [](Event event) { delete &moment(event); },
                    record, await, seconds_between};
  backend.idle = idle;
  return backend;
}

using Host = std::shared_ptr<const Communicator>;
const Communicator& host(void* communicator) { return **static_cast<Host*>(communicator); }

/// A word to and from every other rank.
class Handshake {
 public:
  bool done(const Communicator& c) {
    if (!request_) {
      words_.resize(2 * static_cast<std::size_t>(c.size()));
      std::vector<Message> messages;
      for (int rank = 0; rank < c.size(); ++rank) {
        for (const bool sends : {false, true}) {
          const std::size_t at = 2 * static_cast<std::size_t>(rank) + (sends ? 1 : 0);
          if (rank != c.rank()) messages.push_back({{&words_[at], DType::U8, 1}, rank, sends});
        }
      }
      request_.emplace(start(c, messages));
    }
    return kernels::done(*request_);
  }

 private:
  std::vector<unsigned char> words_;
  std::optional<Request> request_;
};

/// Begins when all members are there: MPI's collectives let no other stream go on meanwhile.
template <class F>
Failure put_collective(void* c, void* stream, F call) {
  put(stream, [c, call, all = std::make_shared<Handshake>()] {
    if (!all->done(host(c))) return false;
    call();
    return true;
  });
  return nullptr;
}

Failure start_messages(void* c, const Message* messages, int count, void* stream, void** request) {
  PACELINE_CHECK(request == nullptr);
  put(stream, [c, all = std::vector<Message>(messages, messages + count),
               started = std::make_shared<std::optional<Request>>()] {
    if (!*started) started->emplace(start(host(c), all));
    return done(**started);
  });
  return nullptr;
}

Failure unused() { return "is not needed here"; }

const Provider kLater{
    "later",
    [](void* c) { delete static_cast<Host*>(c); },
    nullptr,
    [](void*, void*) { return Failure{nullptr}; },
    [](void* c, const Tensor& send, const Tensor& recv, Reduction how, void* stream) {
      return put_collective(c, stream, [=] { all_reduce(host(c), send, recv, how); });
    },
    [](void* c, const Tensor& send, const Tensor& recv, Reduction how, void* stream) {
      return put_collective(c, stream, [=] { reduce_scatter(host(c), send, recv, how); });
    },
    [](void* c, const Tensor& data, int root, void* stream) {
      return put_collective(c, stream, [=] { broadcast(host(c), data, root); });
    },
    [](void* c, const Tensor& send, const Tensor& recv, void* stream) {
      return put_collective(c, stream, [=] { all_gather(host(c), send, recv); });
    },
    [](void*, const Tensor&, const Tensor&, void*) { return unused(); },
    [](void*, const Tensor&, const Tensor&, const std::int64_t*, void*) { return unused(); },
    [](void*, const Tensor&, const std::int64_t*, const Tensor&, const std::int64_t*, void*) {
      return unused();
    },
    start_messages,
    [](void*, void*, bool, bool&) { return unused(); },
    true};

}  // namespace

const Backend& later_backend() {
  static const Backend backend = make_backend();
  return backend;
}

Communicator later_communicator(Communicator host_ranks) {
  const auto ranks = std::make_shared<const Communicator>(std::move(host_ranks));
  Communicator result(kLater, {new Host(ranks), ranks->rank(), ranks->size()});
  result.set_host(ranks, later_communicator);
  return result;
}

}  // namespace paceline::tests
