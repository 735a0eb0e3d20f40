// SPDX-License-Identifier: Apache-2.0
// Every collective against a loop over what the ranks put in. All ranks run these side by side; no
// condition that differs between them may skip a collective.
#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.hpp"
#include "kernels/collective/communicator.hpp"
#include "tests/ranks/world.hpp"

using namespace paceline::kernels;
using paceline::tests::world;

namespace {

constexpr DType kReducible[] = {DType::F32, DType::Bf16, DType::F16,
                                DType::U8,  DType::I32,  DType::U32};
constexpr DType kTypes[] = {DType::F32,  DType::Bf16, DType::F16, DType::E4m3,
                            DType::E5m2, DType::U8,   DType::I32, DType::U32};
// Empty, one, odd; beyond what travels eagerly, of a few types.
constexpr std::int64_t kCounts[] = {0, 1, 3, 1001, 70001};
bool tested(DType type, std::int64_t count) {
  return count <= 3 || type == DType::F32 || (type == DType::Bf16 && count < 70000);
}

/// Memory of a tensor; poisoned until it is filled.
class Memory {
 public:
  Memory(DType type, std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * bytes_of(type), std::byte{0xee}),
        type_(type),
        count_(count) {}
  Tensor tensor() { return {bytes_.data(), type_, count_}; }
  Tensor part(std::int64_t from, std::int64_t count) {
    return {bytes_.data() + static_cast<std::size_t>(from) * bytes_of(type_), type_, count};
  }
  double operator[](std::int64_t i) const { return element(bytes_.data(), type_, i); }
  template <class Function>
  Memory& fill(const Function& value) {
    for (std::int64_t i = 0; i < count_; ++i) set_element(bytes_.data(), type_, i, value(i));
    return *this;
  }
  /// The first place whose value is not value(i); -1: none.
  template <class Function>
  std::int64_t differs(const Function& value) const {
    for (std::int64_t i = 0; i < count_; ++i)
      if ((*this)[i] != value(i)) return i;
    return -1;
  }

 private:
  std::vector<std::byte> bytes_;
  DType type_;
  std::int64_t count_;
};

/// What rank r puts in: whole numbers that all types hold, and the sums of eight too.
double given(int rank, std::int64_t i) { return static_cast<double>(1 + (7 * rank + 3 * i) % 5); }

double reduced(const Communicator& c, Reduction how, std::int64_t i) {
  double result = given(0, i);
  for (int r = 1; r < c.size(); ++r)
    result = how == Reduction::Sum ? result + given(r, i) : std::max(result, given(r, i));
  return result;
}

void check_reductions(const Communicator& c, DType type, std::int64_t count) {
  const int n = c.size(), me = c.rank();
  for (const Reduction how : {Reduction::Sum, Reduction::Max}) {
    const auto all = [&](std::int64_t i) { return reduced(c, how, i); };
    const auto own = [&](std::int64_t i) { return reduced(c, how, me * count + i); };
    Memory send(type, count), recv(type, count);
    send.fill([&](std::int64_t i) { return given(me, i); });
    all_reduce(c, send.tensor(), recv.tensor(), how);
    CHECK(recv.differs(all) == -1);
    all_reduce(c, send.tensor(), send.tensor(), how);
    CHECK(send.differs(all) == -1);
    Memory whole(type, n * count), part(type, count);
    whole.fill([&](std::int64_t i) { return given(me, i); });
    reduce_scatter(c, whole.tensor(), part.tensor(), how);
    CHECK(part.differs(own) == -1);
    reduce_scatter(c, whole.tensor(), whole.part(me * count, count), how);
    for (std::int64_t i = 0; i < count; ++i)
      if (whole[me * count + i] != own(i)) FAIL("in place, element " << i);
  }
}

/// Sizes that differ from rank to rank, some of them 0.
std::int64_t share(int rank, std::int64_t count) { return rank % 3 == 1 ? 0 : count / (rank + 1); }

void check_moves(const Communicator& c, DType type, std::int64_t count) {
  const int n = c.size(), me = c.rank();
  Memory own(type, count), all(type, n * count);
  own.fill([&](std::int64_t i) { return given(me, i); });
  const auto gathered = [&](std::int64_t i) {
    return given(static_cast<int>(i / count), i % count);
  };
  all_gather(c, own.tensor(), all.tensor());
  CHECK(all.differs(gathered) == -1);
  Memory in_place(type, n * count);
  for (std::int64_t i = 0; i < count; ++i)
    set_element(in_place.tensor().data, type, me * count + i, given(me, i));
  all_gather(c, in_place.part(me * count, count), in_place.tensor());
  CHECK(in_place.differs(gathered) == -1);
  for (int root = 0; root < n; ++root) {
    Memory data(type, count);
    data.fill([&](std::int64_t i) { return given(me + 1, i); });
    broadcast(c, data.tensor(), root);
    CHECK(data.differs([&](std::int64_t i) { return given(root + 1, i); }) == -1);
  }
  Memory out(type, n * count), in(type, n * count);
  out.fill([&](std::int64_t i) { return given(me, 2 * i); });
  all_to_all(c, out.tensor(), in.tensor());
  const auto exchanged = [&](std::int64_t i) {
    return given(static_cast<int>(i / count), 2 * (me * count + i % count));
  };
  CHECK(in.differs(exchanged) == -1);
}

/// Element k of what rank `from` sends rank `to`.
double message(int from, int to, std::int64_t k) { return given(from + 2 * to, k); }

void check_uneven(const Communicator& c, DType type, std::int64_t count) {
  const int n = c.size(), me = c.rank();
  std::vector<std::int64_t> sizes, out_sizes, in_sizes;
  std::vector<double> gathered, expected, outgoing;
  for (int r = 0; r < n; ++r) {
    sizes.push_back(share(r, count));
    out_sizes.push_back(share((me + 2 * r) % 5, count));
    in_sizes.push_back(share((r + 2 * me) % 5, count));
    for (std::int64_t k = 0; k < sizes.back(); ++k) gathered.push_back(given(r, k));
    for (std::int64_t k = 0; k < out_sizes.back(); ++k) outgoing.push_back(message(me, r, k));
    for (std::int64_t k = 0; k < in_sizes.back(); ++k) expected.push_back(message(r, me, k));
  }
  const auto list = [](const std::vector<double>& v) {
    return [&v](std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  };
  Memory own(type, share(me, count)), all(type, std::ssize(gathered));
  own.fill([&](std::int64_t i) { return given(me, i); });
  all_gather_v(c, own.tensor(), all.tensor(), sizes);
  CHECK(all.differs(list(gathered)) == -1);
  Memory out(type, std::ssize(outgoing)), in(type, std::ssize(expected));
  out.fill(list(outgoing));
  all_to_all_v(c, out.tensor(), out_sizes, in.tensor(), in_sizes);
  CHECK(in.differs(list(expected)) == -1);
}

/// Everyone to everyone at once, itself included, two messages with tags in opposite orders.
void check_messages(const Communicator& c, DType type, std::int64_t count) {
  const int n = c.size(), me = c.rank();
  std::vector<Memory> out, in;
  std::vector<Message> messages;
  for (int k = 0; k < 2 * n; ++k) {
    out.emplace_back(type, count).fill([&](std::int64_t i) {
      return given(me + k % n + k / n, i);
    });
    in.emplace_back(type, count);
  }
  for (int k = 0; k < 2 * n; ++k)
    messages.push_back({out[static_cast<std::size_t>(k)].tensor(), k % n, true, k / n});
  for (int k = 2 * n - 1; k >= 0; --k)
    messages.push_back({in[static_cast<std::size_t>(k)].tensor(), k % n, false, k / n});
  Request request = start(c, messages);
  while (!done(request)) {
  }
  wait(request);  // done: nothing to wait for
  for (int k = 0; k < 2 * n; ++k) {
    const auto sent = [&](std::int64_t i) { return given(k % n + me + k / n, i); };
    CHECK(in[static_cast<std::size_t>(k)].differs(sent) == -1);
  }
}

/// Once around the ring, one rank after the other.
void check_ring(const Communicator& c, DType type, std::int64_t count) {
  if (c.size() == 1) return;
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  Memory data(type, count);
  data.fill([&](std::int64_t i) { return given(c.rank(), i); });
  if (c.rank() > 0) recv(c, data.tensor(), previous);
  send(c, data.tensor(), next);
  if (c.rank() == 0) recv(c, data.tensor(), previous);
  CHECK(data.differs([](std::int64_t i) { return given(0, i); }) == -1);
}

void check_all(const Communicator& c, std::span<const std::int64_t> counts) {
  for (const std::int64_t count : counts) {
    for (const DType type : kTypes) {
      if (!tested(type, count)) continue;
      INFO(c.size() << " ranks, " << count << " of " << name_of(type));
      check_moves(c, type, count);
      check_uneven(c, type, count);
      check_messages(c, type, count);
      check_ring(c, type, count);
    }
    for (const DType type : kReducible) {
      if (!tested(type, count)) continue;
      INFO(c.size() << " ranks, " << count << " of " << name_of(type));
      check_reductions(c, type, count);
    }
  }
  barrier(c);
}

}  // namespace

TEST_CASE("collectives of all ranks are what a loop gives", "[ranks]") {
  check_all(world(), kCounts);
}

TEST_CASE("groups communicate among themselves", "[ranks]") {
  const int me = world().rank(), n = world().size();
  // Halves side by side, then all in reverse order, then everyone alone.
  const std::vector<int> half =
      me < n / 2 ? std::vector<int>{n / 2 - 1, 0} : std::vector<int>{n / 2, n - 1};
  std::vector<int> mine(half.begin(), half.begin() + (half[0] == half[1] ? 1 : 2));
  std::vector<int> reversed(static_cast<std::size_t>(n));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  for (const std::vector<int>& members : {mine, reversed, std::vector<int>{me}}) {
    const Communicator some = group(world(), members);
    CHECK(some.size() == std::ssize(members));
    CHECK(members[static_cast<std::size_t>(some.rank())] == me);
    check_all(some, std::vector<std::int64_t>{0, 5});
    const Communicator smaller = group(some, std::vector<int>{some.rank()});
    CHECK(smaller.size() == 1);
  }
  barrier(world());
}

TEST_CASE("groups that cannot be are refused", "[ranks]") {
  using paceline::base::Error;
  const int me = world().rank(), n = world().size();
  CHECK_THROWS_AS(group(world(), std::vector<int>{me, n}), Error);
  CHECK_THROWS_AS(group(world(), std::vector<int>{-1, me}), Error);
  CHECK_THROWS_AS(group(world(), std::vector<int>{me, me}), Error);
  if (n > 1) CHECK_THROWS_AS(group(world(), std::vector<int>{(me + 1) % n}), Error);
}

TEST_CASE("every rank's value is gathered", "[ranks]") {
  const std::vector<double> values = gather_values(world(), 1.5 * world().rank());
  REQUIRE(std::ssize(values) == world().size());
  for (int r = 0; r < world().size(); ++r) CHECK(values[static_cast<std::size_t>(r)] == 1.5 * r);
}
