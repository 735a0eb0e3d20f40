// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "kernels/collective/world.hpp"

namespace paceline::kernels {
namespace {

using detail::CollectiveData;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostCalls = 100'000;
constexpr int kFewest = 3;

bool shares_array(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

double slowest(const Communicator& communicator, double seconds) {
  const std::vector<double> all = gather_values(communicator, seconds);
  return *std::max_element(all.begin(), all.end());
}

/// Tensors of one rank, and the call to time.
class Run {
 public:
  Run(const CollectiveData& data, const Communicator& communicator, const Backend& backend)
      : data_(data),
        communicator_(communicator),
        backend_(backend),
        send_(backend, size(data.send_count())),
        recv_(backend, size(data.recv_count())),
        stream_(backend.make_stream()),
        others_(backend.enqueues ? 0 : static_cast<std::size_t>(backend.cache())) {
    std::vector<std::byte> values(send_.bytes());
    for (std::int64_t i = 0; i < data.send_count(); ++i)
      set_element(values.data(), data.type, i, data.sent(i));
    backend.to_device(send_.data(), values.data(), values.size());
  }
  ~Run() { backend_.drop_stream(stream_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void call() const {
    const Tensor send{send_.data(), data_.type, data_.send_count()};
    const Tensor recv{recv_.data(), data_.type, data_.recv_count()};
    switch (data_.kind) {
      case CollectiveKind::AllReduce:
        return all_reduce(communicator_, send, recv, Reduction::Sum, stream_);
      case CollectiveKind::AllGather:
        return all_gather(communicator_, send, recv, stream_);
      case CollectiveKind::ReduceScatter:
        return reduce_scatter(communicator_, send, recv, Reduction::Sum, stream_);
      case CollectiveKind::AllToAll:
        return all_to_all(communicator_, send, recv, stream_);
      case CollectiveKind::Broadcast:
        return broadcast(communicator_, data_.rank == 0 ? send : recv, 0, stream_);
      case CollectiveKind::SendRecv:
        break;
    }
    const int n = data_.ranks;
    const Message messages[] = {{recv, (data_.rank + n - 1) % n, false},
                                {send, (data_.rank + 1) % n, true}};
    exchange(communicator_, messages, stream_);
  }

  /// Seconds of this rank for so many calls that all ranks begin together.
  double time(std::int64_t calls) const {
    barrier(communicator_, stream_);
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    backend_.wait(stream_);
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  /// Seconds until this rank has done one call that all ranks of a machine begin at the same time,
  /// each with other things in its caches: as after kernels in a step. There a call of few bytes
  /// takes several times what it takes in a loop of its own.
  double time_apart() const {
    constexpr double kLongest = 1;  // of waiting for each other, on a machine that is too busy
    for (double margin = slowest(communicator_, 2 * forget());; margin *= 2) {
      const double start = slowest(communicator_, now() + margin);
      forget();
      const bool late = now() > start;
      while (now() < start) {
      }
      call();
      const double seconds = now() - start;
      if (slowest(communicator_, late ? 1 : 0) == 0 || margin > kLongest) return seconds;
    }
  }

  /// Once more on poisoned memory; "" or what is wrong on this rank.
  std::string check() const {
    backend_.fill(recv_.data(), 0xee, recv_.bytes());
    call();
    backend_.wait(stream_);
    const bool is_source = data_.kind == CollectiveKind::Broadcast && data_.rank == 0;
    const Buffer& result = is_source ? send_ : recv_;
    std::vector<std::byte> values(result.bytes());
    backend_.to_host(values.data(), result.data(), values.size());
    return wrong_element(data_, values.data());
  }

 private:
  static double now() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }
  /// Fills the caches; how long that takes.
  double forget() const {
    const double start = now();
    constexpr std::size_t kLine = 64;
    for (std::size_t i = 0; i < others_.size(); i += kLine) others_[i] = others_[i] + 1;
    return now() - start;
  }
  std::size_t size(std::int64_t count) const {
    return static_cast<std::size_t>(count) * bytes_of(data_.type);
  }
  CollectiveData data_;
  const Communicator& communicator_;
  const Backend& backend_;
  Buffer send_, recv_;
  Stream stream_;
  mutable std::vector<unsigned char> others_;  ///< what else there is in the caches
};

/// On all ranks or on none.
void require_right(const Run& run, const CollectiveData& data, const Communicator& communicator) {
  const std::string wrong = run.check();
  const std::vector<double> right = gather_values(communicator, wrong.empty() ? 1 : 0);
  for (int rank = 0; rank < data.ranks; ++rank) {
    if (right[static_cast<std::size_t>(rank)] != 0) continue;
    throw base::Error(communicator.provider().name,
                      std::string(name_of(data.kind)) + " of " + std::to_string(data.count) + " " +
                          std::string(name_of(data.type)) + ": the result is wrong on rank " +
                          std::to_string(rank) + (rank == data.rank ? ": " + wrong : ""));
  }
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

/// How many calls make a repetition, and how many repetitions there is time for; the same on all
/// ranks, because the times are. `apart`: one call.
std::pair<std::int64_t, int> plan(const Run& run, const Communicator& communicator, bool apart,
                                  const CollectiveOptions& options) {
  double spent = 0;
  std::int64_t calls = 1;
  while (true) {  // warms up as well
    spent = slowest(communicator, run.time(calls));
    if (spent >= options.batch.value / 5 || calls >= kMostCalls) break;
    calls *= 2;
  }
  const double once = std::max(spent / static_cast<double>(calls), 1e-9);
  const double batch = apart ? 0 : std::min(1e9, options.batch.value / once);
  calls = std::clamp<std::int64_t>(std::llround(batch), 1, kMostCalls);
  const double fitting = options.most.value / (once * static_cast<double>(calls));
  return {calls, std::clamp(static_cast<int>(std::min(fitting, 1e6)),
                            std::min(kFewest, options.repetitions), options.repetitions)};
}

}  // namespace

namespace detail {

double given(std::uint64_t seed, int ranks, int rank, std::int64_t i) {
  constexpr int kLargest = 255;
  if (rank >= kLargest) return 0;
  const auto values = static_cast<std::uint64_t>(kLargest / std::min(ranks, kLargest));
  std::uint64_t mixed = seed + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U +
                        static_cast<std::uint64_t>(rank) * 0xd1342543de82ef95U;
  mixed = (mixed ^ (mixed >> 32)) * 0xbf58476d1ce4e5b9U;
  return static_cast<double>(1 + (mixed >> 40) % values);
}

std::int64_t CollectiveData::send_count() const {
  return kind == CollectiveKind::AllGather ? count / ranks : count;
}
std::int64_t CollectiveData::recv_count() const {
  return kind == CollectiveKind::ReduceScatter ? count / ranks : count;
}

double CollectiveData::sent(std::int64_t i) const { return given(seed, ranks, rank, i); }

double CollectiveData::expected(std::int64_t i) const {
  const std::int64_t part = std::max<std::int64_t>(1, count / ranks);
  const auto sum = [&](std::int64_t at) {
    double result = 0;
    for (int r = 0; r < ranks; ++r) result += given(seed, ranks, r, at);
    return result;
  };
  switch (kind) {
    case CollectiveKind::AllReduce:
      return sum(i);
    case CollectiveKind::ReduceScatter:
      return sum(rank * part + i);
    case CollectiveKind::AllGather:
      return given(seed, ranks, static_cast<int>(i / part), i % part);
    case CollectiveKind::AllToAll:
      return given(seed, ranks, static_cast<int>(i / part), rank * part + i % part);
    case CollectiveKind::Broadcast:
      return given(seed, ranks, 0, i);
    case CollectiveKind::SendRecv:
      break;
  }
  return given(seed, ranks, (rank + ranks - 1) % ranks, i);
}

std::string wrong_element(const CollectiveData& data, const void* result) {
  const std::int64_t count = data.recv_count();
  std::string wrong;
  const auto look = [&](std::int64_t i) {
    const double got = element(result, data.type, i), wanted = data.expected(i);
    if (got != wanted && wrong.empty())
      wrong = "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
              std::to_string(wanted);
    return wrong.empty();
  };
  // Odd steps: no alignment of pieces hides between them.
  constexpr std::int64_t kAll = std::int64_t{1} << 22;
  const std::int64_t step = count <= kAll ? 1 : (count / kAll) | 1;
  for (std::int64_t i = 0; i < count && look(i); i += step) {
  }
  const std::int64_t part = count / data.ranks;
  for (int r = 0; r < data.ranks && part > 0 && wrong.empty(); ++r)
    if (look(r * part)) look((r + 1) * part - 1);
  return wrong;
}

}  // namespace detail

CollectiveMeasurement measure_collective(CollectiveKind kind, std::int64_t bytes,
                                         const Communicator& communicator, const Backend& backend,
                                         const CollectiveOptions& options) {
  PACELINE_CHECK(bytes >= 0 && options.repetitions >= 1);
  PACELINE_CHECK(options.type != DType::E4m3 && options.type != DType::E5m2);
  std::int64_t count = bytes / static_cast<std::int64_t>(bytes_of(options.type));
  if (shares_array(kind)) count -= count % communicator.size();
  const CollectiveData data{
      kind, options.type, count, communicator.rank(), communicator.size(), options.seed};
  const Run run(data, communicator, backend);
  require_right(run, data, communicator);
  // On GPUs as nccl-tests do it; elsewhere as a step finds it.
  const bool apart = !backend.enqueues && on_one_machine(communicator);
  const auto [calls, repetitions] = plan(run, communicator, apart, options);
  std::vector<double> times;
  for (int r = 0; r < repetitions; ++r) {
    const double seconds = apart ? run.time_apart() : run.time(calls);
    times.push_back(slowest(communicator, seconds) / static_cast<double>(calls));
  }
  require_right(run, data, communicator);
  std::sort(times.begin(), times.end());
  CollectiveMeasurement m;
  m.size = base::Bytes(static_cast<double>(count) * static_cast<double>(bytes_of(options.type)));
  m.median = base::Seconds(quantile(times, 0.5));
  m.min = base::Seconds(times.front());
  m.spread = base::Seconds(quantile(times, 0.75) - quantile(times, 0.25));
  m.repetitions = repetitions;
  m.calls = calls;
  m.rates = bandwidth(kind, m.size, communicator.size(), m.median);
  return m;
}

}  // namespace paceline::kernels
