// SPDX-License-Identifier: Apache-2.0
#include "models/cost/sparse_collective.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace paceline;
using namespace paceline::models;

namespace {

/// Perlmutter: 4 A100 and 4 ports of Slingshot a node.
struct Perlmutter {
  Link nvlink = read_link("nvlink3"), slingshot = read_link("slingshot-200");
  CollectiveGroup group(int gpus) const {
    CollectiveGroup g;
    g.ranks = gpus;
    g.domains = gpus / 4;
    g.per_domain = 4;
    g.intra = &nvlink;
    g.network = &slingshot;
    g.ports = 4;
    g.generation = "ampere";
    g.domain_devices = 4;
    return g;
  }
};

double share(SparseFormat f, double density, int v) {
  const double elements = 1 << 22;
  return sparse_bytes(f, elements, density, v).value / (elements * v);
}

}  // namespace

TEST_CASE("the formats cross where the byte rules say", "[models][sparse]") {
  // d (v + 4) = d v + 1/8 + 4/4096 at 3.15 % for any v; d v + 1/8 + 4/4096 = v at 96.9 and 93.7 %.
  CHECK(100 * bitvector_range(4).low == Approx(3.15).margin(0.005));
  CHECK(100 * bitvector_range(2).low == Approx(3.15).margin(0.005));
  CHECK(100 * bitvector_range(4).high == Approx(96.9).margin(0.05));
  CHECK(100 * bitvector_range(2).high == Approx(93.7).margin(0.05));
  for (const int v : {2, 4}) {
    const BitvectorRange r = bitvector_range(v);
    CHECK(choose_format(1 << 22, 0.99 * r.low, v, 0) == SparseFormat::Coordinates);
    CHECK(choose_format(1 << 22, 1.01 * r.low, v, 0) == SparseFormat::Bitvector);
    CHECK(share(SparseFormat::Bitvector, 0.999 * r.high, v) < 1);
    CHECK(share(SparseFormat::Bitvector, 1.001 * r.high, v) > 1);
  }
  CHECK(choose_format(1 << 22, 0.5, 4, 0.5) == SparseFormat::Dense);
  CHECK(choose_format(1 << 22, 0.49, 4, 0.5) == SparseFormat::Bitvector);
}

TEST_CASE("at 99 % sparsity fp32 shrinks 24.1 times as a bitvector, 50 times as coordinates",
          "[models][sparse]") {
  CHECK(1 / share(SparseFormat::Bitvector, 0.01, 4) == Approx(24.1).margin(0.05));
  CHECK(1 / share(SparseFormat::Coordinates, 0.01, 4) == Approx(50));
  CHECK(sparse_bytes(SparseFormat::Bitvector, 4097, 0, 4).value == 513 + 8);
  CHECK(sparse_slot_bytes(SparseFormat::Coordinates, 100, 0.01, 4).value == 64);
}

TEST_CASE("sums of sparse arrays fill up", "[models][sparse]") {
  const double percent[] = {7.7, 14.9, 27.5, 47.4};
  int addends = 8;
  for (const double p : percent) {
    CHECK(100 * summed_density(0.01, addends) == Approx(p).margin(0.05));
    addends *= 2;
  }
  CHECK(summed_density(0.3, 1) == Approx(0.3));
  CHECK(summed_density(0, 64) == 0);
  CHECK(summed_density(1, 64) == 1);
}

TEST_CASE("a sparse collective sends the bytes of its formats", "[models][sparse]") {
  const Perlmutter p;
  const CollectiveGroup g = p.group(8);
  const NcclRelease& release = nccl_release("2.24");
  const double size = 256.0 * 1048576, elements = size / 4 / 8;
  const SparseTime gather =
      sparse_collective_time(CollectiveOp::AllGather, base::Bytes(size), 0.01, 4, g, release);
  CHECK(gather.sent.value ==
        7 * sparse_slot_bytes(SparseFormat::Coordinates, elements, 0.01, 4).value);
  CHECK(gather.final_density == Approx(0.01));
  double scatter = 0;
  for (int k = 1; k < 8; ++k) {
    const double d = 1 - std::pow(0.99, k);
    scatter += sparse_slot_bytes(d < 0.0315 ? SparseFormat::Coordinates : SparseFormat::Bitvector,
                                 elements, d, 4)
                   .value;
  }
  const SparseTime reduce =
      sparse_collective_time(CollectiveOp::ReduceScatter, base::Bytes(size), 0.01, 4, g, release);
  CHECK(reduce.sent.value == Approx(scatter));
  const SparseTime both =
      sparse_collective_time(CollectiveOp::AllReduce, base::Bytes(size), 0.01, 4, g, release);
  CHECK(both.sent > reduce.sent + gather.sent);
  CHECK(both.final_density == Approx(0.0773).epsilon(0.01));
  // Arrays without a zero travel as they are.
  const SparseTime full =
      sparse_collective_time(CollectiveOp::AllGather, base::Bytes(size), 1, 4, g, release);
  CHECK(full.sent.value == Approx(size * 7 / 8));
}

TEST_CASE("sparse collectives gain with sparsity up to what the codec allows", "[models][sparse]") {
  const Perlmutter p;
  const NcclRelease& release = nccl_release("2.24");
  const base::Bytes size(1073741824);
  for (const int gpus : {8, 16, 32, 64}) {
    const CollectiveGroup g = p.group(gpus);
    for (const CollectiveOp op :
         {CollectiveOp::AllGather, CollectiveOp::ReduceScatter, CollectiveOp::AllReduce}) {
      double last = 0;
      for (const double sparsity : {0.0, 0.5, 0.7, 0.9, 0.99, 0.999}) {
        const double gain = sparse_speed_up(op, size, sparsity, 4, g, release);
        INFO(gpus << " " << to_text(op) << " " << sparsity);
        CHECK(std::isfinite(gain));
        CHECK(gain >= last * (1 - 1e-9));
        last = gain;
      }
      CHECK(last > 1);
      CHECK(last < 50);
    }
    // A slower codec never helps.
    SparseSettings slow;
    slow.codec = base::BytesPerSecond(50e9);
    CHECK(sparse_speed_up(CollectiveOp::AllGather, size, 0.99, 4, g, release, slow) <=
          sparse_speed_up(CollectiveOp::AllGather, size, 0.99, 4, g, release));
  }
  CHECK(sparse_speed_up(CollectiveOp::AllReduce, size, 0.99, 4, CollectiveGroup{}, release) == 1);
}
