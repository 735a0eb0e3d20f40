// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>

#include "models/cost/collective.hpp"
#include "models/cost/nccl_tuner.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

/// Counts the bytes of messages between ranks, `g` consecutive ones to a domain.
struct Wires {
  int n, g;
  double inside = 0, across = 0;
  void send(int from, int to, double bytes) { (from / g == to / g ? inside : across) += bytes; }
};

/// n - 1 steps round the ring, each rank passing on one chunk, `passes` times.
void ring(Wires& w, double size, int passes) {
  for (int p = 0; p < passes; ++p)
    for (int step = 1; step < w.n; ++step)
      for (int r = 0; r < w.n; ++r) w.send(r, (r + 1) % w.n, size / w.n);
}
void chain(Wires& w, double size) {
  for (int r = 0; r + 1 < w.n; ++r) w.send(r, r + 1, size);
}
/// A chain inside every domain whose first ranks form a binary tree: up and down every edge.
void tree(Wires& w, double size) {
  for (int r = 0; r < w.n; ++r) {
    const int domain = r / w.g;
    const int parent = r % w.g != 0 ? r - 1 : (domain - 1) / 2 * w.g;
    if (r == 0) continue;
    w.send(r, parent, size);
    w.send(parent, r, size);
  }
}
/// Ring scatter and gather inside every domain, all-reduce of the shards between equal members.
void hierarchical(Wires& w, double size, int passes) {
  const int domains = w.n / w.g;
  for (int p = 0; p < passes; ++p) {
    for (int d = 0; d < domains; ++d)
      for (int step = 1; step < w.g; ++step)
        for (int r = 0; r < w.g; ++r) w.send(d * w.g + r, d * w.g + (r + 1) % w.g, size / w.g);
    for (int m = 0; m < w.g; ++m)
      for (int step = 1; step < domains; ++step)
        for (int d = 0; d < domains; ++d)
          w.send(d * w.g + m, (d + 1) % domains * w.g + m, size / w.g / domains);
  }
}
/// Every rank hands a share to each head of its domain and gets the sum of it back; head j of all
/// domains reduces share j in the switches.
void collnet(Wires& w, double size) {
  for (int r = 0; r < w.n; ++r) {
    w.across += size / w.g;
    for (int head = 0; head < w.g; ++head) {
      if (head == r % w.g) continue;
      w.inside += size / w.g;  // to the head
      w.inside += size / w.g;  // and the head's to this rank
    }
  }
}
void all_to_all(Wires& w, double size) {
  for (int a = 0; a < w.n; ++a)
    for (int b = 0; b < w.n; ++b)
      if (a != b) w.send(a, b, size / w.n);
}

void check(const Wires& w, CollectiveOp op, CollectiveAlgorithm a, double size) {
  const LinkBytes b = bytes_by_link(op, a, base::Bytes(size), w.n / w.g, w.g);
  INFO(to_text(op) << " " << to_text(a) << " " << w.n / w.g << "x" << w.g);
  CHECK(b.inside.value == Approx(w.inside / w.n).margin(1e-9));
  CHECK(b.across.value == Approx(w.across / w.n).margin(1e-9));
}

CollectiveGroup sixteen(const Link& nvlink, const Link& network) {
  CollectiveGroup g;
  g.ranks = 16;
  g.domains = 2;
  g.per_domain = 8;
  g.intra = &nvlink;
  g.network = &network;
  g.generation = "hopper";
  return g;
}

}  // namespace

TEST_CASE("bytes by link are those of the messages, one by one", "[models][collective]") {
  using A = CollectiveAlgorithm;
  using Op = CollectiveOp;
  const double size = 720720;
  for (const int g : {1, 2, 4, 8})
    for (const int domains : {1, 2, 3, 8}) {
      const Wires none{g * domains, g};
      if (none.n == 1) continue;
      Wires w = none;
      ring(w, size, 2);
      check(w, Op::AllReduce, A::Ring, size);
      w = none;
      ring(w, size, 1);
      check(w, Op::AllGather, A::Ring, size);
      check(w, Op::ReduceScatter, A::Ring, size);
      w = none;
      chain(w, size);
      check(w, Op::Broadcast, A::Ring, size);
      check(w, Op::Reduce, A::Ring, size);
      w = none;
      tree(w, size);
      check(w, Op::AllReduce, A::Tree, size);
      w = none;
      hierarchical(w, size, 2);
      check(w, Op::AllReduce, A::Hierarchical, size);
      w = none;
      hierarchical(w, size, 1);
      check(w, Op::AllGather, A::Hierarchical, size);
      if (domains > 1) {
        w = none;
        collnet(w, size);
        check(w, Op::AllReduce, A::CollNetDirect, size);
        check(w, Op::AllReduce, A::CollNetChain, size);
      }
      w = none;
      all_to_all(w, size);
      check(w, Op::AllToAll, A::Direct, size);
    }
  const LinkBytes nvls = bytes_by_link(Op::AllReduce, A::Nvls, base::Bytes(800), 1, 8);
  CHECK(nvls.inside.value == Approx(900));
  CHECK(nvls.across.value == 0);
  // Over reducing switches an eighth of the array leaves by each of 8 ports, whatever the nodes.
  for (const int nodes : {2, 4, 512})
    CHECK(bytes_by_link(Op::AllReduce, A::Nvls, base::Bytes(800), nodes, 8).across.value ==
          Approx(100));
  const LinkBytes gather = bytes_by_link(Op::AllGather, A::CollNetDirect, base::Bytes(800), 4, 8);
  CHECK(gather.inside.value == Approx(700));
  CHECK(gather.across.value == Approx(25));
  CHECK(bytes_by_link(Op::ReduceScatter, A::CollNetDirect, base::Bytes(800), 4, 8).across.value ==
        Approx(100));
  CHECK(bytes_by_link(Op::SendRecv, A::Direct, base::Bytes(5), 2, 1).across.value == 5);
  CHECK(bytes_by_link(Op::SendRecv, A::Direct, base::Bytes(5), 1, 2).inside.value == 5);
}

TEST_CASE("the sum over links is what a rank sends", "[models][collective]") {
  for (const CollectiveOp op :
       {CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter,
        CollectiveOp::AllToAll, CollectiveOp::Broadcast, CollectiveOp::Reduce}) {
    const LinkBytes b = bytes_by_link(op, CollectiveAlgorithm::Ring, base::Bytes(1e6), 4, 8);
    CHECK((b.inside + b.across).value ==
          Approx(bytes_sent_per_rank(op, base::Bytes(1e6), 32).value));
  }
}

TEST_CASE("the hierarchical algorithm is the sum of its phases, on request only",
          "[models][collective]") {
  const Link nvlink = read_link("nvlink4-nvswitch"), network = read_link("ndr400");
  const NcclRelease& release = nccl_release("2.21");
  CollectiveGroup g = sixteen(nvlink, network);
  g.algorithms = 1u << static_cast<unsigned>(CollectiveAlgorithm::Hierarchical);
  const base::Bytes size(1e9);
  const CollectiveChoice c = white_box_time(CollectiveOp::AllReduce, size, g, release);
  CHECK(c.algorithm == CollectiveAlgorithm::Hierarchical);
  CollectiveGroup inner = sixteen(nvlink, network), outer = inner;
  inner.ranks = 8;
  inner.domains = 1;
  inner.network = nullptr;
  outer.ranks = 2;
  outer.per_domain = 1;
  outer.intra = nullptr;
  outer.sharers = 8;
  const base::Seconds parts =
      white_box_time(CollectiveOp::ReduceScatter, size, inner, release).time +
      white_box_time(CollectiveOp::AllGather, size, inner, release).time +
      white_box_time(CollectiveOp::AllReduce, size * 0.125, outer, release).time;
  CHECK(c.time.value == Approx(parts.value));
  g.algorithms = kNcclAlgorithms;
  CHECK(white_box_time(CollectiveOp::AllReduce, size, g, release).algorithm !=
        CollectiveAlgorithm::Hierarchical);
}

TEST_CASE("NCCL's tuner chooses within what is allowed", "[models][collective]") {
  const Link nvlink = read_link("nvlink4-nvswitch"), network = read_link("ndr400");
  const NcclRelease& release = nccl_release("2.21");
  CollectiveGroup g = sixteen(nvlink, network);
  g.tuner = true;
  for (double bytes = 64; bytes < 1e10; bytes *= 8) {
    const CollectiveChoice chosen =
        nccl_choice(CollectiveOp::AllReduce, base::Bytes(bytes), g, release);
    const CollectiveChoice timed =
        white_box_time(CollectiveOp::AllReduce, base::Bytes(bytes), g, release);
    CHECK(timed.algorithm == chosen.algorithm);
    CHECK(timed.protocol == chosen.protocol);
    CollectiveGroup fastest = g;
    fastest.tuner = false;
    CHECK(timed.time >=
          white_box_time(CollectiveOp::AllReduce, base::Bytes(bytes), fastest, release).time);
  }
  g.algorithms = 1u << static_cast<unsigned>(CollectiveAlgorithm::Ring);
  g.protocols = 1u << static_cast<unsigned>(CollectiveProtocol::LL);
  const CollectiveChoice c = nccl_choice(CollectiveOp::AllReduce, base::Bytes(1e9), g, release);
  CHECK(c.algorithm == CollectiveAlgorithm::Ring);
  CHECK(c.protocol == CollectiveProtocol::LL);
}

TEST_CASE("the busiest rank of an uneven all-to-all decides", "[models][collective]") {
  const Link nvlink = read_link("nvlink4-nvswitch");
  const NcclRelease& release = nccl_release("2.21");
  CollectiveGroup g;
  g.ranks = g.per_domain = 4;
  g.intra = &nvlink;
  g.generation = "hopper";
  std::vector<double> even(16, 1e7), skewed = even;
  const base::Seconds all =
      collective_time(CollectiveOp::AllToAll, base::Bytes(4e7), g, release).time;
  CHECK(all_to_all_v_time(even, g, release).time.value == Approx(all.value));
  for (std::size_t i = 0; i < 4; ++i) skewed[i * 4] = 2e7;  // everybody sends rank 0 twice as much
  CHECK(all_to_all_v_time(skewed, g, release).time.value ==
        Approx(collective_time(CollectiveOp::AllToAll, base::Bytes(8e7), g, release).time.value));
  std::vector<double> own(16, 0);
  own[0] = 1e9;  // what stays at home takes no time
  CHECK(all_to_all_v_time(own, g, release).time.value == 0);
}
