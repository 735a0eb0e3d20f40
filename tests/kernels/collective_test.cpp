// SPDX-License-Identifier: Apache-2.0
// Collectives of one rank, their bandwidths, and how ranks are found. Several ranks: tests/ranks.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "base/error.hpp"
#include "kernels/collective/measure.hpp"
#include "kernels/collective/ranks.hpp"
#include "kernels/collective/reduce.hpp"

using namespace paceline::kernels;
using paceline::base::Bytes;
using paceline::base::Error;
using paceline::base::Seconds;

namespace {

/// Variables of launchers, unset before and after.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& set = {}) {
    clear();
    for (const auto& [name, value] : set) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() { clear(); }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static void clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_SIZE",
          "PMI_RANK", "MPI_LOCALRANKID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID",
          "SLURM_STEP_ID", "SLURM_NTASKS"})
      unsetenv(name);
  }
};

/// A provider that is self, but loses the last element of a sum.
Failure forgetful_all_reduce(void* c, const Tensor& send, const Tensor& recv, Reduction how,
                             void* stream) {
  Tensor shorter_send = send, shorter_recv = recv;
  --shorter_send.count;
  --shorter_recv.count;
  return self_communicator().provider().all_reduce(c, shorter_send, shorter_recv, how, stream);
}

constexpr CollectiveOptions kShort{DType::F32, 3, Seconds(1e-5), Seconds(0.01), 7};

}  // namespace

TEST_CASE("busbw over algbw as nccl-tests states it", "[kernels]") {
  using K = CollectiveKind;
  // By hand from the summary of nccl-tests' doc/PERFORMANCE.md.
  CHECK(bus_factor(K::AllReduce, 2) == 1);
  CHECK(bus_factor(K::AllReduce, 4) == 1.5);
  CHECK(bus_factor(K::AllReduce, 8) == 1.75);
  CHECK(bus_factor(K::AllGather, 8) == 0.875);
  CHECK(bus_factor(K::ReduceScatter, 4) == 0.75);
  CHECK(bus_factor(K::AllToAll, 16) == 0.9375);
  CHECK(bus_factor(K::Broadcast, 8) == 1);
  CHECK(bus_factor(K::SendRecv, 2) == 1);
  CHECK(bus_factor(K::AllReduce, 1) == 0);
}

TEST_CASE("bandwidths of a table's rows", "[kernels]") {
  // 1 GiB in 4.77 ms among 8: 225.1 GB/s, and 7/4 of it on the bus.
  const Bandwidth all =
      bandwidth(CollectiveKind::AllReduce, Bytes(1073741824), 8, Seconds(4.77e-3));
  CHECK(all.algorithm.value == Approx(225.1031e9).epsilon(1e-5));
  CHECK(all.bus.value == Approx(393.9304e9).epsilon(1e-5));
  CHECK(bandwidth(CollectiveKind::AllGather, Bytes(8000), 4, Seconds(1e-6)).bus.value ==
        Approx(6e9));
  CHECK(bandwidth(CollectiveKind::SendRecv, Bytes(0), 4, Seconds(1e-6)).algorithm.value == 0);
  CHECK(bandwidth(CollectiveKind::SendRecv, Bytes(8), 4, Seconds(0)).algorithm.value == 0);
}

TEST_CASE("collectives have names", "[kernels]") {
  for (const CollectiveKind kind : kCollectiveKinds) CHECK(collective_named(name_of(kind)) == kind);
  CHECK_THROWS_AS(collective_named("all-reduce"), Error);
}

TEST_CASE("two-byte floats add and compare rounded to nearest even", "[kernels]") {
  using paceline::numeric::bf16, paceline::numeric::fp16;
  // 256 + 1 and 256 + 3 lie half way between bf16's neighbours 256, 258 and 260.
  bf16 a[] = {bf16(256), bf16(256), bf16(-2)}, b[] = {bf16(1), bf16(3), bf16(1.5)};
  reduce_into(a, b, 3, Reduction::Sum);
  CHECK(static_cast<float>(b[0]) == 256);
  CHECK(static_cast<float>(b[1]) == 260);
  CHECK(static_cast<float>(b[2]) == -0.5F);
  fp16 c[] = {fp16(2048), fp16(-3)}, d[] = {fp16(1), fp16(-4)};
  reduce_into(c, d, 1, Reduction::Sum);
  CHECK(static_cast<float>(d[0]) == 2048);
  reduce_into(c, d, 2, Reduction::Max);
  CHECK(static_cast<float>(d[0]) == 2048);
  CHECK(static_cast<float>(d[1]) == -3);
}

TEST_CASE("one rank sends messages to itself", "[kernels]") {
  const Communicator self = self_communicator();
  float first = 1, second = 2, a = 0, b = 0, c = 0;
  const auto tensor = [](float& x) { return Tensor{&x, DType::F32, 1}; };
  Request early = irecv(self, tensor(a), 0, 5);
  CHECK_FALSE(done(early));
  send(self, tensor(first), 0, 4);
  CHECK_FALSE(done(early));
  send(self, tensor(second), 0, 5);
  CHECK(done(early));
  CHECK(a == 2);
  recv(self, tensor(b), 0, 4);
  CHECK(b == 1);
  CHECK_THROWS_AS(recv(self, tensor(c), 0, 4), Error);
  send(self, tensor(first), 0);
  CHECK_THROWS_AS(recv(self, {&c, DType::F32, 0}, 0), Error);
}

TEST_CASE("every collective is measured and its result checked", "[kernels]") {
  const Communicator self = self_communicator();
  for (const CollectiveKind kind : kCollectiveKinds) {
    for (const std::int64_t bytes : {0, 3, 4, 1001, 40000}) {
      const CollectiveMeasurement m = measure_collective(kind, bytes, self, cpu_backend(), kShort);
      CHECK(m.size.value == static_cast<double>(bytes / 4 * 4));
      CHECK(m.min <= m.median);
      CHECK(m.median.value > 0);
      CHECK(m.repetitions == 3);
      CHECK(m.rates.algorithm.value == m.size.value / m.median.value);
    }
  }
}

TEST_CASE("a wrong sum is an error, not a time", "[kernels]") {
  const Communicator self = self_communicator();
  Provider forgetful = self.provider();
  forgetful.all_reduce = forgetful_all_reduce;
  ProviderHandle handle;
  const int only = 0;
  REQUIRE(self.provider().group(self.handle(), &only, 1, handle) == nullptr);
  const Communicator bad(forgetful, handle);
  CHECK_THROWS_WITH(
      measure_collective(CollectiveKind::AllReduce, 4000, bad, cpu_backend(), kShort),
      Catch::Contains("all_reduce of 1000 fp32: the result is wrong on rank 0: element 999 is "));
}

TEST_CASE("any wrong element of a result is found", "[kernels]") {
  const auto kind =
      GENERATE(CollectiveKind::AllReduce, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
               CollectiveKind::AllGather, CollectiveKind::Broadcast, CollectiveKind::SendRecv);
  const detail::CollectiveData data{kind, DType::Bf16, 12, 1, 3, 5};
  std::vector<std::byte> result(static_cast<std::size_t>(data.recv_count()) * 2);
  for (std::int64_t i = 0; i < data.recv_count(); ++i)
    set_element(result.data(), data.type, i, data.expected(i));
  CHECK(detail::wrong_element(data, result.data()).empty());
  for (std::int64_t i = 0; i < data.recv_count(); ++i) {
    set_element(result.data(), data.type, i, data.expected(i) + 1);
    CHECK(detail::wrong_element(data, result.data()).find("element " + std::to_string(i) + " ") ==
          0);
    set_element(result.data(), data.type, i, data.expected(i));
  }
}

TEST_CASE("what ranks put in adds up to what every type holds", "[kernels]") {
  for (const int ranks : {1, 2, 3, 8, 64, 255, 300}) {
    for (std::int64_t i = 0; i < 50; ++i) {
      double sum = 0;
      for (int r = 0; r < ranks; ++r) sum += detail::given(3, ranks, r, i);
      CHECK(sum >= 1);
      CHECK(sum <= 255);
    }
  }
}

TEST_CASE("launchers are known by their variables", "[kernels]") {
  const Variables none;
  CHECK_FALSE(launch().has_value());
  {
    const Variables v({{"OMPI_COMM_WORLD_SIZE", "4"},
                       {"OMPI_COMM_WORLD_RANK", "3"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
    REQUIRE(launch().has_value());
    CHECK(launch()->launcher == "mpirun");
    CHECK(launch()->ranks == 4);
    CHECK(launch()->rank == 3);
    CHECK(launch()->local_rank == 1);
  }
  {
    const Variables v({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}});
    CHECK(launch()->ranks == 2);
  }
  {
    const Variables v({{"SLURM_STEP_NUM_TASKS", "8"},
                       {"SLURM_PROCID", "5"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_STEP_ID", "0"}});
    CHECK(launch()->launcher == "srun");
    CHECK(launch()->rank == 5);
  }
}

TEST_CASE("a batch script or a shell in an allocation is no rank", "[kernels]") {
  // sbatch sets a rank, and no number of tasks of a step.
  const Variables batch({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}});
  CHECK_FALSE(launch().has_value());
  const Variables interactive(
      {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "4294967290"}});
  CHECK_FALSE(launch().has_value());
  const Variables shell(
      {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "3"}});
  CHECK_FALSE(launch().has_value());
}

TEST_CASE("numbers of ranks that cannot be are refused", "[kernels]") {
  char name[] = "program";
  char* words[] = {name};
  const Variables none;
  CHECK_FALSE(start_ranks(1, words).has_value());
  CHECK_THROWS_AS(start_ranks(0, words), Error);
  CHECK_THROWS_AS(start_ranks(-3, words), Error);
  CHECK_THROWS_AS(start_ranks(5000, words), Error);
  {
    const Variables v({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "2"}});
    CHECK_THROWS_AS(launch(), Error);
  }
  {
    const Variables v({{"OMPI_COMM_WORLD_SIZE", "two"}, {"OMPI_COMM_WORLD_RANK", "0"}});
    CHECK_THROWS_AS(launch(), Error);
  }
  {
    const Variables v({{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "0"}});
    CHECK_THROWS_WITH(start_ranks(2, words), Catch::Contains("started 3 ranks, but 2 are asked"));
    CHECK_FALSE(start_ranks(3, words).has_value());
  }
}
