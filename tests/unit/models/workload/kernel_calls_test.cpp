// SPDX-License-Identifier: Apache-2.0
#include "models/workload/kernel_calls.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "kernels/operation.hpp"
#include "models/cost/kernel.hpp"
#include "models/cost/kernel_curve.hpp"
#include "tests/scenario_of.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;
using tests::small_gpt;

namespace {

const KernelCall& find(const std::vector<KernelCall>& calls, const std::string& kernel,
                       const std::string& pass) {
  for (const KernelCall& c : calls)
    if (c.kernel == kernel && c.pass == pass) return c;
  FAIL("no " << kernel << " " << pass);
  return calls.front();
}

double matrix_work(const KernelCall& c) {
  double product = 2;
  for (const auto& [name, value] : c.extents) product *= static_cast<double>(value);
  return product;
}

}  // namespace

TEST_CASE("matrix products keep the extents of their forward pass", "[kernel-calls]") {
  const Scenario s = small_gpt();
  std::vector<Op> ops;
  append_forward(ops, s.model, s.model.kinds[0], layer_shape(s));
  append_backward(ops, s.model, s.model.kinds[0], layer_shape(s));
  std::map<std::string, std::set<base::Extents>> by_pass;
  double flops = 0;
  for (const Op& op : ops) {
    if (op.kind != OpKind::Gemm) continue;
    const std::vector<KernelCall> calls = kernel_calls(op);
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].kernel == "gemm");
    by_pass[calls[0].pass].insert(calls[0].extents);
    flops += matrix_work(calls[0]);
    // And back again.
    const auto back = matrix_op("gemm", calls[0].pass, op.precision, calls[0].extents);
    REQUIRE(back);
    CHECK(back->m == op.m);
    CHECK(back->n == op.n);
    CHECK(back->k == op.k);
    CHECK(back->phase == op.phase);
  }
  REQUIRE(by_pass.size() == 3);
  CHECK(by_pass["forward"] == by_pass["input-gradient"]);
  CHECK(by_pass["forward"] == by_pass["weight-gradient"]);
  double all = 0;
  for (const Op& op : ops)
    if (op.kind == OpKind::Gemm) all += 2 * op.m * op.n * op.k;
  CHECK(flops == Approx(all));
}

TEST_CASE("elementwise ops name their kernels and sizes", "[kernel-calls]") {
  const Scenario s = small_gpt();
  std::vector<Op> ops;
  append_forward(ops, s.model, s.model.kinds[0], layer_shape(s));
  append_backward(ops, s.model, s.model.kinds[0], layer_shape(s));
  append_embedding(ops, s.model, layer_shape(s), Phase::Forward);
  append_embedding(ops, s.model, layer_shape(s), Phase::Input);
  append_head(ops, s.model, s.model.vocab, layer_shape(s), Phase::Forward);
  append_head(ops, s.model, s.model.vocab, layer_shape(s), Phase::Input);
  std::vector<KernelCall> calls;
  for (const Op& op : ops)
    for (const KernelCall& c : kernel_calls(op)) calls.push_back(c);
  const base::Extents rows{{"rows", 1024}, {"columns", 1024}};  // 2 sequences of 512, hidden 1024
  for (const char* pass : {"forward", "input-gradient", "weight-gradient"})
    CHECK(find(calls, "layernorm", pass).extents == rows);
  CHECK(find(calls, "gelu", "input-gradient").extents ==
        base::Extents{{"rows", 1024}, {"columns", 4096}});
  CHECK(find(calls, "triad", "forward").extents == base::Extents{{"count", 1024 * 1024}});
  CHECK(find(calls, "embedding", "weight-gradient").extents ==
        base::Extents{{"rows", 1024}, {"vocab", 32000}, {"columns", 1024}});
  CHECK(find(calls, "cross-entropy", "input-gradient").extents ==
        base::Extents{{"rows", 1024}, {"vocab", 32000}});
  for (const KernelCall& c : calls) {
    INFO(c.kernel << " " << c.pass);
    CHECK(kernel_size(kernel_kind(c.kernel), c.extents).value_or(0) > 0);
    for (const auto& [name, value] : c.extents) CHECK(value >= 1);
  }
}

TEST_CASE("the kernels of a step stand once each, with the optimizer", "[kernel-calls]") {
  const Scenario s = small_gpt();
  const std::vector<KernelCall> calls = scenario_kernel_calls(s);
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) CHECK(!(calls[i] == calls[k]));
  CHECK(find(calls, "adamw", "step").extents.front().first == "parameters");
  const KernelCall& attention = find(calls, "attention", "forward");
  CHECK(attention.extents == base::Extents{{"batch", 2},
                                           {"heads", 16},
                                           {"kv_heads", 16},
                                           {"queries", 512},
                                           {"keys", 512},
                                           {"head_dim", 64},
                                           {"causal", 1}});
}

TEST_CASE("a scenario whose attention is cuDNN's calls cuDNN's kernel", "[kernel-calls]") {
  Scenario s = small_gpt();
  const base::Extents own = find(scenario_kernel_calls(s), "attention", "backward").extents;
  s.attention = "cudnn-9";
  const std::vector<KernelCall> calls = scenario_kernel_calls(s);
  CHECK(find(calls, "attention-cudnn", "forward").extents == own);
  CHECK(find(calls, "attention-cudnn", "backward").extents == own);
  for (const KernelCall& c : calls) CHECK(c.kernel != "attention");
}

TEST_CASE("every kernel of this program has a law, and its extents a size", "[kernel-calls]") {
  for (const kernels::Operation& operation : kernels::operations()) {
    INFO(operation.kernel << " " << operation.pass);
    const KernelKind& kind = kernel_kind(operation.kernel);
    for (const kernels::Shape& shape : operation.bench_shapes()) {
      CHECK(kernel_size(kind, shape.extents()).value_or(0) > 0);
      if (kind.law != KernelLaw::Gemm) continue;
      CHECK(matrix_op(operation.kernel, operation.pass, Precision::Bf16, shape.extents()));
    }
  }
  CHECK_THAT(
      tests::message_of([] { kernel_kind("gem", "s.jsonl:1:1: kernel"); }),
      Catch::Matchers::Equals("s.jsonl:1:1: kernel: unknown kernel 'gem'; did you mean 'gemm'?"));
}

TEST_CASE("what calls and kernels name their extents agrees", "[kernel-calls]") {
  for (const KernelCall& c : scenario_kernel_calls(small_gpt())) {
    for (const kernels::Operation& operation : kernels::operations()) {
      if (c.kernel != operation.kernel || c.pass != operation.pass) continue;
      INFO(c.kernel << " " << c.pass);
      const kernels::Shape shape = operation.bench_shapes().front();
      for (const auto& [name, value] : c.extents) CHECK(shape.has(name));
    }
  }
}

TEST_CASE("a curve goes on beyond its points", "[kernel-curve]") {
  KernelCurve curve{"rmsnorm", "forward", "fp32", {}, {{1000, 2e-6}, {2000, 4e-6}}, {}};
  curve.curve = MonotoneCurve(curve.points);
  const base::Seconds launch(1e-6);
  CHECK(curve_time(curve, 1000, launch).value == Approx(2e-6));
  CHECK(curve_time(curve, 4000, launch).value == Approx(8e-6));
  CHECK(curve_time(curve, 500, launch).value == Approx(1.5e-6));
  CHECK(curve_time(curve, 0, launch).value == Approx(1e-6));
  CHECK(curve_time(curve, 1, base::Seconds(1)).value == Approx(2e-6));  // never above the end
}

TEST_CASE("the curve of the nearest block is taken", "[kernel-curve]") {
  std::vector<KernelCurve> curves(3);
  for (std::size_t i = 0; i < 3; ++i) {
    curves[i].kernel = "rmsnorm";
    curves[i].pass = "forward";
    curves[i].type = "fp32";
    curves[i].fixed = {{"block", std::int64_t{16} << (2 * i)}};
  }
  const auto block_of = [&](std::int64_t block) {
    const KernelCurve* found =
        find_curve(curves, "rmsnorm", "forward", "fp32", {{"block", block}, {"rows", 1}});
    return found == nullptr ? 0 : found->fixed[0].second;
  };
  CHECK(block_of(16) == 16);
  CHECK(block_of(100) == 64);
  CHECK(block_of(100000) == 256);
  CHECK(find_curve(curves, "rmsnorm", "forward", "bf16", {{"block", 16}}) == nullptr);
  CHECK(find_curve(curves, "rmsnorm", "forward", "fp32", {}) == nullptr);
}

TEST_CASE("measured curves are for stacks that run those kernels", "[kernel-curve]") {
  Scenario s = small_gpt();
  std::vector<Op> ops;
  append_forward(ops, s.model, s.model.kinds[0], layer_shape(s));
  const auto norm =
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kernel == "layernorm"; });
  REQUIRE(norm != ops.end());
  Profile& profile = s.profiles.front();
  KernelCurve curve{"layernorm", "forward",         std::string(to_text(norm->precision)),
                    {},          {{1 << 20, 7e-3}}, {}};
  curve.curve = MonotoneCurve(curve.points);
  profile.kernels = {curve};
  const Device& device = s.cluster.groups.front().device;
  const auto time = [&] {
    return kernel_time(kernel_model(device, profile, s.stack, "eager", s.model), *norm).value;
  };
  const double modelled = time();
  s.stack.measured_kernels = true;
  CHECK(time() == Approx(7e-3));
  CHECK(modelled < 1e-3);
}
