// SPDX-License-Identifier: Apache-2.0
// What attention must be beyond agreeing with its reference: the reference against differences,
// masks against calls without them, heads that share keys against heads that repeat them.
#include "kernels/attention/attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/check.hpp"
#include "kernels/simt/mma.hpp"
#include "tests/kernels/named.hpp"

using namespace paceline::kernels;

namespace {

const Operation& forward() { return operation("attention", "forward"); }
const Operation& backward() { return operation("attention", "backward"); }

Case with_documents(Case c, int documents) {
  c.shape.set("documents", documents);
  c.shape.set("ragged", 1);
  return c;
}

/// Inputs as the driver of all operations fills them: rounded, offsets in order.
Named inputs_of(const Operation& o, const Case& c, std::uint64_t seed) {
  const Arguments arguments(o, c, cpu_backend(), seed);
  Named result;
  for (std::size_t i = 0; i < arguments.specs().size(); ++i) {
    if (arguments.specs()[i].use == Use::In)
      result[arguments.specs()[i].name] = arguments.initial()[i];
  }
  return result;
}

/// Forward, then backward with what it gave, and a random dout.
Named both(const Backend* backend, const Case& c, Named inputs) {
  const auto run = [&](const Operation& o, const Named& from) {
    return backend == nullptr ? by_reference(o, c, from) : on(*backend, o, c, from);
  };
  inputs.emplace("dout", inputs_of(backward(), c, 77).at("dout"));
  const Named outputs = run(forward(), inputs);
  inputs["out"] = outputs.at("out");
  inputs["lse"] = outputs.at("lse");
  return run(backward(), inputs);
}

double loss(const Case& c, const Named& inputs) {
  const Named outputs = by_reference(forward(), c, inputs);
  double sum = 0;
  for (std::size_t i = 0; i < outputs.at("out").size(); ++i)
    sum += outputs.at("out")[i] * inputs.at("dout")[i];
  return sum;
}

void check_slopes(const Case& c) {
  Named inputs = inputs_of(forward(), c, 5);
  inputs["dout"] = inputs_of(backward(), c, 77).at("dout");
  const Named gradients = both(nullptr, c, inputs);
  for (const char* name : {"q", "k", "v"}) {
    for (std::size_t i = 0; i < inputs.at(name).size(); ++i) {
      constexpr double kStep = 1e-5;
      Named up = inputs, down = inputs;
      up.at(name)[i] += kStep;
      down.at(name)[i] -= kStep;
      INFO(name << "[" << i << "] " << c.shape.text());
      CHECK(gradients.at(std::string("d") + name)[i] ==
            Approx((loss(c, up) - loss(c, down)) / (2 * kStep)).epsilon(1e-6).margin(1e-8));
    }
  }
}

double distance(const std::vector<double>& got, const std::vector<double>& wanted) {
  REQUIRE(got.size() == wanted.size());
  double squares = 0, worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    squares += wanted[i] * wanted[i];
    worst = std::isfinite(got[i]) ? std::max(worst, std::abs(got[i] - wanted[i])) : INFINITY;
  }
  return worst / std::sqrt(squares / static_cast<double>(got.size()));
}
double allowed(DType type) { return type == DType::F32 ? 2e-5 : type == DType::F16 ? 6e-3 : 4e-2; }

struct Way {
  const Backend* backend;
  DType type;
  int head_dim;
};
/// The processor, the plain kernels and the ones for tensor cores.
std::vector<Way> ways() {
  return {{&cpu_backend(), DType::F32, 24},
          {&simt_backend(), DType::F32, 24},
          {&simt_backend(), DType::Bf16, 64},
          {&simt_backend(), DType::F16, 128}};
}

/// Rows [from, from + count) of every sequence of a tensor [batch, rows, width].
std::vector<double> rows_of(const std::vector<double>& values, std::size_t rows, std::size_t from,
                            std::size_t count, std::size_t width) {
  std::vector<double> result;
  for (std::size_t first = from * width; first < values.size(); first += rows * width)
    result.insert(result.end(), values.begin() + static_cast<std::ptrdiff_t>(first),
                  values.begin() + static_cast<std::ptrdiff_t>(first + count * width));
  return result;
}

}  // namespace

TEST_CASE("gradients of attention are the slopes of its forward pass", "[kernels]") {
  check_slopes(attention_case(DType::F32, 1, 2, 1, 3, 5, 8, 1));
  check_slopes(attention_case(DType::F32, 2, 1, 1, 4, 3, 8, 1));
  check_slopes(attention_case(DType::F32, 1, 2, 2, 4, 3, 8, 0));
  check_slopes(with_documents(attention_case(DType::F32, 2, 2, 1, 5, 5, 8, 1), 4));
}

TEST_CASE("backward after forward gives the gradient of both", "[kernels]") {
  for (const Way& way : ways()) {
    const Case c = attention_case(way.type, 1, 2, 1, 80, 150, way.head_dim, 1);
    const Named inputs = inputs_of(forward(), c, 8);
    const Named got = both(way.backend, c, inputs), wanted = both(nullptr, c, inputs);
    INFO(way.backend->name << " " << c.shape.text());
    for (const char* name : {"dq", "dk", "dv"})
      CHECK(distance(got.at(name), wanted.at(name)) < allowed(way.type));
  }
}

TEST_CASE("a causal query sees what a full one sees of the keys up to it", "[kernels]") {
  for (const Way& way : ways()) {
    const int queries = 70, keys = 75;
    const Case c = attention_case(way.type, 1, 1, 1, queries, keys, way.head_dim, 1);
    const Named inputs = inputs_of(forward(), c, 9), got = on(*way.backend, forward(), c, inputs);
    const auto width = static_cast<std::size_t>(way.head_dim);
    for (const std::size_t query : {0U, 1U, 31U, 64U, 69U}) {
      const std::size_t seen = query + keys - queries + 1;
      const Named alone{{"q", rows_of(inputs.at("q"), queries, query, 1, width)},
                        {"k", rows_of(inputs.at("k"), keys, 0, seen, width)},
                        {"v", rows_of(inputs.at("v"), keys, 0, seen, width)}};
      const Case one =
          attention_case(way.type, 1, 1, 1, 1, static_cast<int>(seen), way.head_dim, 0);
      const Named wanted = on(*way.backend, forward(), one, alone);
      INFO(way.backend->name << " head_dim " << way.head_dim << " query " << query);
      CHECK(distance(rows_of(got.at("out"), queries, query, 1, width), wanted.at("out")) <
            allowed(way.type));
      CHECK(got.at("lse")[query] == Approx(wanted.at("lse")[0]).margin(1e-4));
    }
  }
}

TEST_CASE("packed documents are computed as if each were alone", "[kernels]") {
  for (const Way& way : ways()) {
    const std::size_t tokens = 100, width = 2 * static_cast<std::size_t>(way.head_dim);
    const Case c = with_documents(attention_case(way.type, 1, 2, 2, 100, 100, way.head_dim, 1), 5);
    Named inputs = inputs_of(forward(), c, 10);
    inputs.at("offsets") = {0, 20, 20, 21, 86, 100};
    inputs["dout"] = inputs_of(backward(), c, 77).at("dout");
    const Named forwards = on(*way.backend, forward(), c, inputs);
    const Named got = both(way.backend, c, inputs);
    for (std::size_t i = 0; i + 1 < inputs.at("offsets").size(); ++i) {
      const auto first = static_cast<std::size_t>(inputs.at("offsets")[i]),
                 count = static_cast<std::size_t>(inputs.at("offsets")[i + 1]) - first;
      if (count == 0) continue;
      Named alone;
      for (const char* name : {"q", "k", "v", "dout"})
        alone[name] = rows_of(inputs.at(name), tokens, first, count, width);
      const int length = static_cast<int>(count);
      const Case one = attention_case(way.type, 1, 2, 2, length, length, way.head_dim, 1);
      INFO(way.backend->name << " head_dim " << way.head_dim << " document " << i);
      CHECK(distance(rows_of(forwards.at("out"), tokens, first, count, width),
                     on(*way.backend, forward(), one, alone).at("out")) < allowed(way.type));
      const Named wanted = both(way.backend, one, alone);
      for (const char* name : {"dq", "dk", "dv"}) {
        if (count == 1 && name[1] != 'v') continue;  // of one key: nothing but rounding
        CHECK(distance(rows_of(got.at(name), tokens, first, count, width), wanted.at(name)) <
              allowed(way.type));
      }
    }
  }
}

TEST_CASE("heads that share keys are heads with the keys repeated", "[kernels]") {
  for (const Way& way : ways()) {
    const Case shared = attention_case(way.type, 1, 4, 2, 40, 40, way.head_dim, 1),
               repeated = attention_case(way.type, 1, 4, 4, 40, 40, way.head_dim, 1);
    const auto width = static_cast<std::size_t>(way.head_dim);
    Named inputs = inputs_of(forward(), shared, 11);
    inputs["dout"] = inputs_of(backward(), shared, 78).at("dout");
    Named copies = inputs;
    for (const char* name : {"k", "v"}) {
      std::vector<double> all;
      for (std::size_t head = 0; head < 40 * 4; ++head) {
        const auto from = inputs.at(name).begin() + static_cast<std::ptrdiff_t>(head / 2 * width);
        all.insert(all.end(), from, from + way.head_dim);
      }
      copies[name] = all;
    }
    CHECK(on(*way.backend, forward(), shared, inputs).at("out") ==
          on(*way.backend, forward(), repeated, copies).at("out"));
    const Named got = both(way.backend, shared, inputs),
                wanted = both(way.backend, repeated, copies);
    CHECK(distance(got.at("dq"), wanted.at("dq")) < allowed(way.type));
    for (const char* name : {"dk", "dv"}) {
      std::vector<double> sums(got.at(name).size());
      for (std::size_t i = 0; i < wanted.at(name).size(); ++i)
        sums[i / width / 2 * width + i % width] += wanted.at(name)[i];
      INFO(way.backend->name << " " << name << " head_dim " << way.head_dim);
      CHECK(distance(got.at(name), sums) < allowed(way.type));
    }
  }
}

TEST_CASE("queries that see nothing have no output and no gradient", "[kernels]") {
  for (const Way& way : ways()) {
    const Case c = attention_case(way.type, 1, 1, 1, 200, 3, way.head_dim, 1);
    const Named inputs = inputs_of(forward(), c, 12);
    const Named outputs = on(*way.backend, forward(), c, inputs),
                gradients = both(way.backend, c, inputs);
    for (std::size_t i = 0; i < 197; ++i) {
      CHECK(outputs.at("lse")[i] == -INFINITY);
      CHECK(outputs.at("out")[i * static_cast<std::size_t>(way.head_dim)] == 0);
      CHECK(gradients.at("dq")[i * static_cast<std::size_t>(way.head_dim)] == 0);
    }
    CHECK(std::isfinite(outputs.at("lse")[197]));
    for (const double x : gradients.at("dk")) CHECK(std::isfinite(x));
  }
}

TEST_CASE("large scores do not overflow, and NaN is not hidden", "[kernels]") {
  for (const Way& way : ways()) {
    const Case c = attention_case(way.type, 1, 1, 1, 3, 70, way.head_dim, 0);
    const auto width = static_cast<std::size_t>(way.head_dim);
    Named inputs = inputs_of(forward(), c, 13);
    for (std::size_t i = 0; i < width; ++i) {
      inputs.at("q")[i] = 100;  // of query 0, along key 66
      for (std::size_t key = 0; key < 70; ++key)
        inputs.at("k")[key * width + i] = key == 66 ? 100 : -100;
      inputs.at("q")[2 * width + i] = NAN;
    }
    const std::vector<double> out = on(*way.backend, forward(), c, inputs).at("out");
    CHECK(std::vector<double>(out.begin(), out.begin() + way.head_dim) ==
          rows_of(inputs.at("v"), 70, 66, 1, width));
    for (std::size_t i = 0; i < width; ++i) CHECK(std::isnan(out[2 * width + i]));
  }
}

TEST_CASE("tiles of attention are read without bank conflicts", "[kernels]") {
  for (const int head_dim : {64, 128}) {
    const Case c = attention_case(DType::Bf16, 1, 1, 1, 70, 70, head_dim, 1);
    const simt::BankStatistics before = simt::bank_statistics();
    both(&simt_backend(), c, inputs_of(forward(), c, 14));
    CHECK(simt::bank_statistics().reads > before.reads);
    CHECK(simt::bank_statistics().conflicts == before.conflicts);
  }
}

TEST_CASE("attention counts the products it needs", "[kernels]") {
  const Case full = attention_case(DType::Bf16, 2, 8, 2, 1024, 1024, 64, 0),
             causal = attention_case(DType::Bf16, 2, 8, 2, 1024, 1024, 64, 1);
  CHECK(forward().work(full).flops == 4.0 * 2 * 8 * 1024 * 1024 * 64);
  CHECK(forward().work(causal).flops == 2.0 * 2 * 8 * 1024 * 1024 * 64);
  CHECK(backward().work(causal).flops == 5.0 * 2 * 8 * 1024 * 1024 * 64);
  // q, out 2 MiB each; k, v 0.5 MiB each; lse 64 KiB
  CHECK(forward().work(full).bytes == 5 * 1048576 + 65536);
  // Four documents of equal length: a quarter of the pairs.
  Case packed = attention_case(DType::Bf16, 1, 8, 2, 1024, 1024, 64, 1);
  packed.shape.set("documents", 4);
  CHECK(forward().work(packed).flops == 0.5 * 8 * 1024 * 1024 * 64);
  // One query at the end of 1000 keys sees nearly all of them.
  CHECK(forward().work(attention_case(DType::F32, 1, 1, 1, 1, 1000, 8, 1)).flops == 4 * 8 * 999.5);
}

TEST_CASE("attention refuses extents that do not fit", "[kernels]") {
  const auto refuses = [](const Case& c, const char* why) {
    CHECK_THROWS_WITH(attention_of(c), Catch::Contains(why));
  };
  refuses(attention_case(DType::F32, 1, 3, 2, 4, 4, 8, 0), "2 kv_heads do not divide 3 heads");
  refuses(attention_case(DType::F32, 1, 2, 2, 4, 4, 12, 0), "multiples of 8 up to 256");
  refuses(attention_case(DType::F32, 1, 2, 2, 4, 4, 264, 0), "multiples of 8 up to 256");
  refuses(attention_case(DType::F32, 0, 2, 2, 4, 4, 8, 0), "batch is 0");
  refuses(attention_case(DType::F32, 1, 2, 2, 4, 4, 8, 2), "causal is 2");
  refuses(with_documents(attention_case(DType::F32, 1, 2, 2, 4, 5, 8, 0), 2), "the same tokens");
  refuses(with_documents(attention_case(DType::F32, 1, 2, 2, 4, 4, 8, 0), 5),
          "5 documents of 4 tokens");
  refuses(attention_case(DType::F32, 1 << 30, 1 << 20, 1, 4, 4, 8, 0), "more than 1e15");
}

TEST_CASE("powers of two are right to a unit in the last place", "[kernels]") {
  double worst = 0;
  for (float x = -126; x < 127.5F; x += 0.0123F)
    worst = std::max(worst, std::abs(double{exp2_of(x)} / std::exp2(double{x}) - 1));
  CHECK(worst < 0x1p-23);
  CHECK(exp2_of(0) == 1);
  CHECK(exp2_of(-127) == 0);
  CHECK(exp2_of(-1e30F) == 0);
  CHECK(exp2_of(-INFINITY) == 0);
  CHECK(exp2_of(129) == INFINITY);
  CHECK(exp2_of(INFINITY) == INFINITY);
  CHECK(std::isnan(exp2_of(NAN)));
  CHECK(std::isnan(exp2_of(-NAN)));
}
