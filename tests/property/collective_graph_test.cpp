// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/collective_graph.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "sim/engine/maxmin.hpp"
#include "sim/engine/reference.hpp"

using namespace paceline;
using namespace paceline::sim;
using models::CollectiveAlgorithm;
using models::CollectiveOp;

namespace {

constexpr double kLatency = 3e-6, kRate = 40e9, kBytes = 1e6;

ChunkedCollective make(CollectiveOp op, CollectiveAlgorithm algorithm, int ranks, int chunks = 1) {
  ChunkedCollective c;
  c.op = op;
  c.algorithm = algorithm;
  c.ranks = ranks;
  c.bytes = kBytes;
  c.latency = kLatency;
  c.rate = kRate;
  c.chunks = chunks;
  return c;
}

/// A star: rank r sends over link r and receives over link N + r.
ChunkedCollective on_star(ChunkedCollective c, double bandwidth) {
  const auto n = static_cast<std::uint32_t>(c.ranks);
  for (std::uint32_t l = 0; l < 2 * n; ++l) {
    c.links.push_back({"link " + std::to_string(l), bandwidth, {}});
  }
  c.route = [n](int from, int to) {
    return std::vector<LinkUse>{{static_cast<std::uint32_t>(from), 1},
                                {n + static_cast<std::uint32_t>(to), 1}};
  };
  return c;
}

std::vector<double> bytes_of_links(const TaskGraph& graph) {
  std::vector<double> bytes(graph.network.links.size(), 0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Transfer* transfer = graph.network.transfer(t);
    REQUIRE(transfer != nullptr);
    for (const LinkUse& use : transfer->uses) bytes[use.link] += transfer->bytes * use.flows;
  }
  return bytes;
}

double makespan(const ChunkedCollective& c) { return run_reference(collective_graph(c)).makespan; }

}  // namespace

TEST_CASE("chunked collectives alone take their closed form", "[network]") {
  const int n = GENERATE(2, 3, 8, 17, 64, 200);
  CAPTURE(n);
  const auto ring = CollectiveAlgorithm::Ring, direct = CollectiveAlgorithm::Direct;
  const double step = kLatency + kBytes / (n * kRate);
  CHECK(makespan(make(CollectiveOp::AllReduce, ring, n)) ==
        Approx(2 * (n - 1) * step).epsilon(1e-9));
  CHECK(makespan(make(CollectiveOp::AllGather, ring, n)) == Approx((n - 1) * step).epsilon(1e-9));
  CHECK(makespan(make(CollectiveOp::ReduceScatter, ring, n)) ==
        Approx((n - 1) * step).epsilon(1e-9));
  CHECK(makespan(make(CollectiveOp::AllToAll, direct, n)) == Approx((n - 1) * step).epsilon(1e-9));
  for (const int chunks : {1, 2, 16}) {
    const double piece = kLatency + kBytes / chunks / kRate;
    CHECK(makespan(make(CollectiveOp::Broadcast, ring, n, chunks)) ==
          Approx((n - 2 + chunks) * piece).epsilon(1e-9));
  }
  CHECK(makespan(make(CollectiveOp::SendRecv, direct, 2)) ==
        Approx(kLatency + kBytes / kRate).epsilon(1e-9));
}

TEST_CASE("double trees of 2^k ranks are k hops deep, and pipelined", "[network]") {
  for (int k = 1; k <= 9; ++k) {
    for (const int chunks : {1, 7, 32}) {
      const double piece = kLatency + kBytes / 2 / chunks / kRate;
      CAPTURE(k, chunks);
      CHECK(makespan(make(CollectiveOp::AllReduce, CollectiveAlgorithm::Tree, 1 << k, chunks)) ==
            Approx((2 * k + chunks - 1) * piece).epsilon(1e-9));
    }
  }
}

TEST_CASE("chunked collectives put on every link what the closed form says", "[network]") {
  for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::AllGather,
                                CollectiveOp::ReduceScatter, CollectiveOp::AllToAll}) {
    for (const int n : {2, 5, 16, 63}) {
      const auto algorithm =
          op == CollectiveOp::AllToAll ? CollectiveAlgorithm::Direct : CollectiveAlgorithm::Ring;
      const TaskGraph graph = collective_graph(on_star(make(op, algorithm, n), kRate));
      CAPTURE(models::to_text(op), n);
      CHECK(static_cast<std::int64_t>(graph.tasks.size()) == message_count(make(op, algorithm, n)));
      const double expected = models::bytes_sent_per_rank(op, base::Bytes(kBytes), n).value;
      for (const double bytes : bytes_of_links(graph)) {
        CHECK(bytes == Approx(expected).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("no rank sends or receives more than twice the array in a double tree", "[network]") {
  for (const int n : {2, 3, 4, 7, 12, 33, 64, 100}) {
    const TaskGraph graph = collective_graph(
        on_star(make(CollectiveOp::AllReduce, CollectiveAlgorithm::Tree, n, 4), kRate));
    double sum = 0;
    CAPTURE(n);
    for (const double bytes : bytes_of_links(graph)) {
      CHECK(bytes <= 2 * kBytes * (1 + 1e-12));
      CHECK(bytes > 0);
      sum += bytes;
    }
    CHECK(sum == Approx(2 * 2 * (n - 1) * kBytes));  // once sent, once received
  }
}

TEST_CASE("a ring on a star shares nothing, on one wire everything", "[network]") {
  const int n = 16;
  const ChunkedCollective ring = make(CollectiveOp::AllReduce, CollectiveAlgorithm::Ring, n);
  CHECK(run_max_min(collective_graph(on_star(ring, kRate))).makespan ==
        Approx(makespan(ring)).epsilon(1e-9));
  ChunkedCollective wire = ring;
  wire.links = {{"wire", kRate, {}}};
  wire.route = [](int, int) { return std::vector<LinkUse>{{0, 1}}; };
  CHECK(run_max_min(collective_graph(wire)).makespan ==
        Approx(2 * (n - 1) * (kLatency + kBytes / kRate)).epsilon(1e-9));
}

TEST_CASE("ring messages take at most 64 bytes each", "[network]") {
  const TaskGraph graph =
      collective_graph(make(CollectiveOp::AllReduce, CollectiveAlgorithm::Ring, 64));
  const std::size_t bytes =
      graph.tasks.capacity() * sizeof(Task) + graph.first_dep.capacity() * sizeof(std::uint32_t) +
      graph.deps.capacity() * sizeof(TaskId) + graph.tasks.size() * 2 * sizeof(double);
  CHECK(bytes <= 64 * graph.tasks.size());
}

TEST_CASE("chunked collectives refuse what they cannot do", "[network]") {
  const auto with = [](auto change) {
    ChunkedCollective c = make(CollectiveOp::AllReduce, CollectiveAlgorithm::Ring, 8);
    change(c);
    return c;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(collective_graph(with([](auto& c) { c.ranks = 0; })), base::Error);
  CHECK_THROWS_AS(collective_graph(with([](auto& c) { c.chunks = 0; })), base::Error);
  CHECK_THROWS_AS(collective_graph(with([&](auto& c) { c.bytes = nan; })), base::Error);
  CHECK_THROWS_AS(collective_graph(with([](auto& c) { c.latency = -1; })), base::Error);
  CHECK_THROWS_AS(collective_graph(with([](auto& c) { c.rate = 0; })), base::Error);
  CHECK_THROWS_WITH(collective_graph(with([](auto& c) { c.ranks = 100'000; })),
                    Catch::Matchers::Contains("at most"));
  CHECK_THROWS_WITH(
      collective_graph(with([](auto& c) { c.algorithm = CollectiveAlgorithm::Nvls; })),
      Catch::Matchers::Contains("no message form"));
  CHECK(collective_graph(with([](auto& c) { c.ranks = 1; })).tasks.empty());
}
