// SPDX-License-Identifier: Apache-2.0
#include "base/child_pool.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/held_signals.hpp"
#include "base/write_all.hpp"

namespace paceline::base {
namespace {

// A child's message: one of these, then its text.
constexpr char kAnswer = 'A';
constexpr char kException = 'E';

struct Worker {
  std::size_t index = 0;
  ChildProcess process;
  std::string message;
};

void say(int output, const std::function<std::string(std::size_t)>& work, std::size_t index) {
  std::string message;
  try {
    message = kAnswer + work(index);
  } catch (const std::exception& error) {
    message = std::string(1, kException) + error.what();
  }
  if (!write_all(output, message)) throw Error("no reader");
}

/// More of the message; false at its end.
bool read_more(Worker& worker) {
  std::array<char, 16384> buffer;
  const ssize_t got = ::read(worker.process.output(), buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  worker.message.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

ChildAnswer finish(Worker& worker) {
  const ChildEnd end = worker.process.wait();
  ChildAnswer answer{worker.index, "", ""};
  if (!end.well()) {
    answer.failure = to_text(end);
  } else if (worker.message.empty()) {
    answer.failure = "ended without an answer";
  } else if (worker.message.front() == kException) {
    answer.failure = worker.message.substr(1);
  } else {
    answer.text = worker.message.substr(1);
  }
  return answer;
}

class Pool {
 public:
  Pool(const std::function<std::string(std::size_t)>& work,
       const std::function<void(ChildAnswer)>& done)
      : work_(work), done_(done) {}

  std::size_t busy() const { return workers_.size(); }
  /// False when the system has no room for one more beside those that run.
  bool start(std::size_t index) {
    try {
      workers_.push_back({index, ChildProcess([&](int output) { say(output, work_, index); }), ""});
    } catch (const Error&) {
      if (workers_.empty()) throw;
      return false;
    }
    return true;
  }
  /// Until a child says something or ends, at most so many milliseconds (-1: any); false when a
  /// signal asks to stop.
  bool wait(int signals, int most) {
    std::vector<pollfd> watched{{signals, POLLIN, 0}};
    for (const Worker& worker : workers_) watched.push_back({worker.process.output(), POLLIN, 0});
    while (::poll(watched.data(), watched.size(), most) < 0) {
      if (errno != EINTR) throw Error("cannot wait for processes");
    }
    std::size_t i = 1;
    for (auto worker = workers_.begin(); worker != workers_.end(); ++i) {
      if (watched[i].revents == 0 || read_more(*worker)) {
        ++worker;
        continue;
      }
      ChildAnswer answer = finish(*worker);
      worker = workers_.erase(worker);
      done_(std::move(answer));
    }
    return watched.front().revents == 0;
  }

 private:
  const std::function<std::string(std::size_t)>& work_;
  const std::function<void(ChildAnswer)>& done_;
  std::list<Worker> workers_;
};

}  // namespace

bool run_in_children(std::size_t count, int jobs,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(ChildAnswer)>& done) {
  std::size_t next = 0;
  const auto piece = [&] {
    return next < count ? std::optional(next++) : std::optional<std::size_t>();
  };
  return run_in_children({piece, nullptr}, jobs, work, done);
}

bool run_in_children(const PieceSource& source, int jobs,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(ChildAnswer)>& done) {
  PACELINE_CHECK(jobs >= 1);
  constexpr int kMeanwhile = 5;  // ms
  const HeldSignals signals;
  Pool pool(work, done);            // gone, and its children with it, before signals act again
  std::optional<std::size_t> next;  // taken and not started
  bool more = true;
  while (true) {
    bool room = true;
    while (room && more && pool.busy() < static_cast<std::size_t>(jobs)) {
      if (!next) next = source.next();
      more = next.has_value();
      room = more && pool.start(*next);
      if (room) next.reset();
    }
    if (!more && pool.busy() == 0) return true;
    if (!pool.wait(signals.descriptor(), source.meanwhile ? kMeanwhile : -1))
      return !more && pool.busy() == 0;
    if (source.meanwhile) source.meanwhile();
  }
}

}  // namespace paceline::base
