// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_ranks.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace paceline::cli {
namespace {

using kernels::Communicator;
using kernels::DType;
using kernels::Request;
using kernels::Tensor;

constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

Tensor words(std::uint32_t* data, std::size_t count) {
  return {data, DType::U32, static_cast<std::int64_t>(count)};
}
Tensor letters(std::string& text) {
  return {text.data(), DType::U8, static_cast<std::int64_t>(text.size())};
}

/// Other processes of this machine get the core in between: MPI's own waiting does not let them.
void wait_gently(Request& request) {
  while (!kernels::done(request)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Ranks with the same number may use the same cores of the same machine.
double place_number() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(0, sizeof cores, &cores);
  std::uint64_t hash = 1469598103934665603U;  // FNV-1a
  const auto mix = [&](const void* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211U;
  };
  mix(host.data(), host.size());
  mix(&cores, sizeof cores);
  return static_cast<double>(hash >> 12);  // exact in a double
}

}  // namespace

int cores_of_rank(const Communicator& ranks) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (ranks.size() == 1) return cores;
  const double mine = place_number();
  const std::vector<double> all = kernels::gather_values(ranks, mine);
  return std::max(1, cores / static_cast<int>(std::count(all.begin(), all.end(), mine)));
}

std::vector<std::size_t> from_first_rank(const Communicator& ranks,
                                         std::vector<std::size_t> values) {
  if (ranks.size() == 1) return values;
  std::uint32_t count = static_cast<std::uint32_t>(values.size());
  kernels::broadcast(ranks, words(&count, 1), 0);
  std::vector<std::uint32_t> sent(values.begin(), values.end());
  sent.resize(count);
  kernels::broadcast(ranks, words(sent.data(), count), 0);
  return {sent.begin(), sent.end()};
}

bool prepared_everywhere(const Communicator& ranks, const std::function<void()>& prepare) {
  std::optional<base::Error> problem;
  try {
    prepare();
  } catch (const base::Error& error) {
    problem = error;
  }
  if (ranks.size() > 1) {
    const std::vector<double> failed = kernels::gather_values(ranks, problem ? 1 : 0);
    const auto first = std::find(failed.begin(), failed.end(), 1.0);
    if (first == failed.end()) return true;
    if (first - failed.begin() != ranks.rank()) return false;
  }
  if (problem) throw base::Error(*problem);
  return true;
}

/// A question is three words: how many bytes of rows follow, whether another piece is wanted, and
/// whether these were the last rows. The answer is one.
struct SharedSweep::Part {
  struct Asker {
    std::array<std::uint32_t, 3> question{};
    Request request;
    bool over = false;
  };
  const Communicator& ranks;
  std::function<void(std::string)> take;
  std::vector<Asker> askers;  ///< on rank 0, by rank
  std::uint32_t pieces = 0, next = 0;
  std::string rows;  ///< on others: not sent yet

  void listen(int rank) {
    Asker& asker = askers[static_cast<std::size_t>(rank)];
    asker.request = kernels::irecv(ranks, words(asker.question.data(), 3), rank);
  }
  std::uint32_t piece() { return next < pieces ? next++ : kNothing; }

  void answer(int rank) {
    Asker& asker = askers[static_cast<std::size_t>(rank)];
    const auto [size, wants, last] = asker.question;
    if (size > 0) {
      std::string text(size, '\0');
      Request rest = kernels::irecv(ranks, letters(text), rank);
      wait_gently(rest);
      take(std::move(text));
    }
    if (wants != 0) {
      std::uint32_t one = piece();
      kernels::send(ranks, words(&one, 1), rank);
    }
    asker.over = last != 0;
    if (!asker.over) listen(rank);
  }
  void serve() {
    for (int rank = 1; rank < ranks.size(); ++rank) {
      Asker& asker = askers[static_cast<std::size_t>(rank)];
      if (!asker.over && kernels::done(asker.request)) answer(rank);
    }
  }

  void ask(std::array<std::uint32_t, 3> question) {
    question[0] = static_cast<std::uint32_t>(rows.size());
    Request words_sent = kernels::isend(ranks, words(question.data(), 3), 0);
    wait_gently(words_sent);
    if (rows.empty()) return;
    Request rows_sent = kernels::isend(ranks, letters(rows), 0);
    wait_gently(rows_sent);
    rows.clear();
  }
  std::uint32_t next_of_first() {
    std::uint32_t told = kNothing;
    Request answer = kernels::irecv(ranks, words(&told, 1), 0);
    ask({0, 1, 0});
    wait_gently(answer);
    return told;
  }
};

SharedSweep::SharedSweep(const Communicator& ranks, std::function<void(std::string)> take)
    : part_(new Part{ranks, std::move(take), {}, 0, 0, ""}) {
  if (ranks.rank() > 0) return;
  part_->askers.resize(static_cast<std::size_t>(ranks.size()));
  for (int rank = 1; rank < ranks.size(); ++rank) part_->listen(rank);
}
SharedSweep::~SharedSweep() = default;

base::PieceSource SharedSweep::source(std::size_t pieces) {
  Part& part = *part_;
  part.pieces = static_cast<std::uint32_t>(pieces);
  const bool first = part.ranks.rank() == 0;
  const auto next = [&part, first]() -> std::optional<std::size_t> {
    const std::uint32_t piece = first ? part.piece() : part.next_of_first();
    return piece == kNothing ? std::nullopt : std::optional<std::size_t>(piece);
  };
  if (!first) return {next, nullptr};
  return {next, [&part] { part.serve(); }};
}

void SharedSweep::give(std::string line) { part_->rows += line; }

void SharedSweep::finish() {
  Part& part = *part_;
  if (part.ranks.rank() > 0) return part.ask({0, 0, 1});
  const auto over = [](const Part::Asker& asker) { return asker.over; };
  while (!std::all_of(part.askers.begin() + 1, part.askers.end(), over)) {
    part.serve();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace paceline::cli
