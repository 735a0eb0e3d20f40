// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "models/cost/collective_table.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

/// One call per size, 1 KB to 10 GB. Argument 0: nodes; argument 1: with the measured table.
void collective(benchmark::State& state) {
  const Link nvlink = read_link("nvlink4-nvswitch"), network = read_link("ndr400");
  const CollectiveTable table = read_collective_table(nvlink, "hopper");
  CollectiveGroup g;
  g.domains = static_cast<int>(state.range(0));
  g.per_domain = 8;
  g.ranks = 8 * g.domains;
  g.intra = &nvlink;
  g.network = &network;
  g.host = "intel";
  g.generation = "hopper";
  if (state.range(1) != 0) g.table = &table;
  const NcclRelease& release = nccl_release("2.21");
  double bytes = 1e3;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        collective_time(CollectiveOp::AllReduce, base::Bytes(bytes), g, release));
    bytes = bytes < 1e10 ? bytes * 1.07 : 1e3;
  }
}

}  // namespace

BENCHMARK(collective)->Args({1, 0})->Args({1, 1})->Args({16, 0});
