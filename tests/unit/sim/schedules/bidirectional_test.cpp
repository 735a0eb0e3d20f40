// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/sim/schedules/evaluate.hpp"

using namespace paceline;
using namespace paceline::sim;
using namespace paceline::sim::test;

TEST_CASE("chimera sends half of the microbatches each way", "[sim]") {
  const Program program = chimera({4, 1, 4});
  CHECK(line_of(program, 0) == "0F0 0F2 3F1 3BW1 3F3 3BW3 0BW0 0BW2");
  CHECK(line_of(program, 1) == "1F0 2F1 1F2 2F3 2BW1 1BW0 2BW3 1BW2");
  CHECK(line_of(program, 3) == "0F1 0F3 3F0 3BW0 3F2 3BW2 0BW1 0BW3");
}

TEST_CASE("chimera takes the time of its closed form", "[sim]") {
  for (const int d : {4, 8, 16}) {
    INFO("D " << d);
    // Li and Hoefler, table 2: (D-2)/2 bubbles of T_F + T_BW each way.
    CHECK(makespan("chimera", {d, 1, d}, 1, 1, 1) == Approx(3 * d + 2 * (d - 2)));
    for (const int units : {1, 2, 3, 4}) {
      const double n = units * d;
      CHECK(makespan("chimera", {d, 1, units * d}, 1, 0.5, 0.5) == Approx(2 * n + d - 2));
    }
  }
  CHECK(makespan("chimera", {4, 1, 4}, 1, 1, 1) == 16);
  CHECK(makespan("chimera", {8, 1, 8}, 1, 1, 1) == 36);
  CHECK(makespan("chimera", {16, 1, 16}, 1, 1, 1) == 76);
}

TEST_CASE("chimera holds D/2 + 1 to D microbatches, most in the middle", "[sim]") {
  for (const int d : {2, 4, 8, 16}) {
    for (int m = d; m <= 64; m += d) {
      const std::vector<int> peak = peak_in_flight(chimera({d, 1, m}));
      CHECK(peak.front() == d / 2 + 1);
      CHECK(peak.back() == d / 2 + 1);
      CHECK(peak[static_cast<std::size_t>(d) / 2] == d);
    }
  }
}

TEST_CASE("chimera takes any number of microbatches, but pairs of ranks", "[sim]") {
  for (int m = 1; m <= 40; ++m) {
    const Program program = chimera({8, 1, m});
    CHECK_NOTHROW(verify(program));
    CHECK(peaks(program, 1).second <= 8);
    CHECK(required_buffers(program) == 1);
    // A unit that is not full costs no more than a full one.
    CHECK(makespan("chimera", {8, 1, m}, 1, 1, 1) <=
          makespan("chimera", {8, 1, (m + 7) / 8 * 8}, 1, 1, 1));
  }
  CHECK(error_of("chimera", {5, 1, 8}) ==
        "schedule chimera: 5 pipeline ranks are no multiple of 2 (the two directions meet between "
        "ranks); nearest: 4 or 6");
  CHECK(error_of("chimera", {4, 2, 8}).find("set chunks to 1") != std::string::npos);
}

TEST_CASE("bitpipe warms up with P + P/2 + min(d, P-1-d) chunk forwards", "[sim]") {
  for (const int p : {4, 8, 16}) {
    const Program program = bitpipe({p, 2, p});
    for (int d = 0; d < p; ++d) {
      const auto& order = program.order[static_cast<std::size_t>(d)];
      const auto first = std::find_if(order.begin(), order.end(),
                                      [](const Action& action) { return action.pass == 1; });
      // The first forward of the alternating part stands before it.
      CHECK(first - order.begin() == p + p / 2 + std::min(d, p - 1 - d) + 1);
      for (const Action& a : order) {
        const bool down = a.microbatch % 2 == 0;
        CHECK((a.stage == (down ? d : p - 1 - d) || a.stage == (down ? 2 * p - 1 - d : p + d)));
      }
    }
  }
}

TEST_CASE("bitpipe takes the time of its closed form", "[sim]") {
  for (const int p : {4, 8, 16}) {
    for (const int units : {1, 2, 4}) {
      INFO("P " << p << " units " << units);
      const int n = units * p;
      CHECK(makespan("bitpipe", {p, 2, n}, 1, 0.5, 0.5) == Approx(2 * n + (p - 2) / 2.0));
      CHECK(makespan("bitpipe", {p, 2, n}, 1, 1, 1) ==
            Approx(3 * n + (p - 2) + (units - 1) * (p - 2) / 2.0));
    }
  }
  CHECK(makespan("bitpipe", {4, 2, 4}, 1, 1, 1) == 14);
  CHECK(makespan("bitpipe", {8, 2, 8}, 1, 1, 1) == 30);
  CHECK(makespan("bitpipe", {16, 2, 16}, 1, 1, 1) == 62);
  CHECK(makespan("bitpipe", {8, 2, 16}, 1, 1, 1) == 57);
  CHECK(makespan("bitpipe", {16, 2, 64}, 1, 1, 1) == 227);
}

TEST_CASE("bitpipe holds 3P/4 + 1/2 to P microbatches", "[sim]") {
  for (const int p : {4, 8, 16}) {
    for (int m = p; m <= 64; m += p) {
      CHECK(peaks(bitpipe({p, 2, m}), 2) == std::pair(0.75 * p + 0.5, double(p)));
    }
  }
  for (int m = 1; m <= 20; ++m) CHECK_NOTHROW(verify(bitpipe({6, 2, m})));
}

TEST_CASE("dualpipe runs forwards with backwards of the other direction", "[sim]") {
  const Program program = dualpipe({2, 1, 4});
  CHECK(line_of(program, 0) == "0F0 1F1 0F2&1BW1 1F3&0BW0 1BW3 0B2 0W2");
  const Program four = dualpipe({4, 1, 8});
  const auto fused = [](const std::vector<Action>& order) {
    return std::count_if(order.begin(), order.end(), [](const Action& a) { return a.fused; });
  };
  CHECK(fused(four.order[0]) == 3);  // 2 (n - P + r + 1) + (H - r - 1)
  CHECK(fused(four.order[1]) == 4);
  CHECK(fused(four.order[2]) == 4);
}

TEST_CASE("dualpipe takes the time of its closed form", "[sim]") {
  for (const int p : {4, 8, 16}) {
    for (const int n : {2 * p, 2 * p + 4, 4 * p}) {
      INFO("P " << p << " N " << n);
      // (P/2 - 1)(T_F&B + T_BW - 3 T_W), a fused pair taking T_F + T_BW.
      CHECK(makespan("dualpipe", {p, 1, n}, 1, 1, 1) == Approx(3 * n + 2 * (p / 2 - 1)));
      CHECK(makespan("dualpipev", {p / 2, 2, n}, 2, 2, 2) == Approx(6 * n + 2 * (p / 2 - 1)));
    }
  }
  CHECK(makespan("dualpipe", {4, 1, 8}, 1, 1, 1) == 26);
  CHECK(makespan("dualpipe", {8, 1, 20}, 1, 1, 1) == 66);
  CHECK(makespan("dualpipe", {8, 1, 32}, 1, 1, 1) == 102);
  CHECK(makespan("dualpipe", {16, 1, 40}, 1, 1, 1) == 134);
}

TEST_CASE("dualpipe holds one microbatch more than there are stages", "[sim]") {
  for (const int p : {2, 4, 8, 16}) {
    for (int m = 2 * p; m <= 64; m += 2) {
      CHECK(peaks(dualpipe({p, 1, m}), 1) == std::pair(p + 1.0, p + 1.0));
      CHECK(peaks(dualpipev({p / 2, 2, m}), 1) == std::pair(p + 1.0, p + 1.0));
    }
  }
}

TEST_CASE("dualpipe says which shapes it takes", "[sim]") {
  CHECK(error_of("dualpipe", {8, 1, 15}) ==
        "schedule dualpipe: 15 microbatches are too few for 8 pipeline ranks; at least 16, two per "
        "rank");
  CHECK(error_of("dualpipe", {8, 1, 17}).find("nearest: 16 or 18") != std::string::npos);
  CHECK(error_of("dualpipe", {7, 1, 20}).find("nearest: 6 or 8") != std::string::npos);
  CHECK(error_of("dualpipev", {4, 2, 7}).find("at least 8") != std::string::npos);
  CHECK(error_of("dualpipev", {4, 2, 9}).empty());
}
