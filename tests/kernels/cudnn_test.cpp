// SPDX-License-Identifier: Apache-2.0
// Attention by cuDNN, where a stand-in (tests/modules/fake_cudnn.cpp) takes the descriptors and
// runs the graphs: against the double-precision reference, and what is said when something is
// wrong.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "kernels/attention_cudnn/graphs.hpp"
#include "kernels/attention_cudnn/runner.hpp"
#include "kernels/check.hpp"
#include "kernels/check_all.hpp"
#include "kernels/library.hpp"
#include "kernels/measure.hpp"

using namespace paceline::kernels;
using paceline::base::Error;
using paceline::base::MissingError;

namespace {

cudnn::Api fake_api() {
  constexpr const char* kFake = PACELINE_FAKE_CUDNN;
  return cudnn::load({&kFake, 1});
}

/// A variable of the environment while this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};
Variable fault(const char* name) { return {"PACELINE_FAKE_CUDNN_FAULT", name}; }
Variable version(const char* number) { return {"PACELINE_FAKE_CUDNN_VERSION", number}; }

constexpr DeviceMemory kHostMemory{
    [] { return 0; },
    [](std::size_t bytes) { return std::memset(std::malloc(bytes), 0xff, bytes); }, std::free,
    [](void* data, std::size_t bytes, Stream) { std::memset(data, 0, bytes); }};

/// The processor's memory, where "attention-cudnn" is the stand-in's.
CudnnAttention* under_test = nullptr;
Backend fake_backend() {
  Backend backend = cpu_backend();
  backend.has = [](const Operation& o) { return std::string(o.kernel) == "attention-cudnn"; };
  backend.run = [](const Operation& o, const Call& call, Stream stream) {
    const bool forward = std::string(o.pass) == "forward";
    forward ? under_test->forward(call, stream) : under_test->backward(call, stream);
  };
  return backend;
}

const Operation& cudnn_pass(const char* name) { return *find_operation("attention-cudnn", name); }

/// What the pass says when it is run, "" when it does it.
template <class Thrown>
std::string refusal(const char* name, const Case& c) {
  const cudnn::Api api = fake_api();
  CudnnAttention made(api, kHostMemory);
  under_test = &made;
  const Backend backend = fake_backend();
  try {
    check(cudnn_pass(name), c, backend, 1);
  } catch (const Thrown& error) {
    return error.what();
  }
  return "";
}

std::string why_not_loaded(const char* library) {
  try {
    cudnn::load({&library, 1});
  } catch (const MissingError& error) {
    return error.what();
  }
  return "";
}

const Case kSmall = attention_case(DType::Bf16, 1, 2, 1, 6, 6, 16, 1);

}  // namespace

TEST_CASE("graphs of attention compute what the reference does", "[kernels][cudnn]") {
  const cudnn::Api api = fake_api();
  CudnnAttention made(api, kHostMemory);
  under_test = &made;
  const Backend backend = fake_backend();
  const Case cases[] = {attention_case(DType::Bf16, 2, 4, 4, 33, 33, 64, 1),
                        attention_case(DType::F16, 2, 4, 2, 40, 40, 32, 1),
                        attention_case(DType::Bf16, 1, 6, 2, 20, 51, 128, 1),
                        attention_case(DType::F16, 1, 3, 1, 50, 17, 72, 0),
                        attention_case(DType::Bf16, 3, 2, 2, 1, 1, 8, 1),
                        attention_case(DType::F16, 1, 8, 8, 16, 16, 80, 0),
                        attention_case(DType::Bf16, 2, 8, 1, 24, 24, 24, 0)};
  std::uint64_t seed = 100;
  for (const Case& c : cases) {
    for (const char* name : {"forward", "backward"}) {
      INFO(label({&cudnn_pass(name), c}));
      const CheckResult result = check(cudnn_pass(name), c, backend, ++seed);
      CHECK(result.problem == "");
      CHECK(result.passed);
      CHECK(result.worst > 0);
    }
  }
}

TEST_CASE("the checks of attention by cuDNN pass on its own shapes", "[kernels][cudnn]") {
  const cudnn::Api api = fake_api();
  CudnnAttention made(api, kHostMemory);
  under_test = &made;
  const Backend backend = fake_backend();
  for (const char* name : {"forward", "backward"}) {
    REQUIRE(cudnn_pass(name).test_shapes().size() >= 5);
    REQUIRE(cudnn_pass(name).bench_shapes().size() >= 10);
    for (const Shape& shape : cudnn_pass(name).test_shapes()) {
      INFO(label({&cudnn_pass(name), {DType::Bf16, shape}}));
      CHECK(check(cudnn_pass(name), {DType::Bf16, shape}, backend, 7).problem == "");
    }
  }
}

TEST_CASE("one plan serves every call of a case, and cases do not mix", "[kernels][cudnn]") {
  const cudnn::Api api = fake_api();
  CudnnAttention made(api, kHostMemory);
  under_test = &made;
  const Backend backend = fake_backend();
  const Case small = kSmall, large = attention_case(DType::Bf16, 1, 2, 1, 30, 30, 64, 0);
  CHECK(check(cudnn_pass("backward"), small, backend, 1).passed);
  CHECK(check(cudnn_pass("backward"), large, backend, 2).passed);
  {
    const Variable none = fault("no-engine");  // neither needs a new one
    CHECK(check(cudnn_pass("backward"), small, backend, 3).passed);
    CHECK(check(cudnn_pass("backward"), large, backend, 4).passed);
    CHECK_THROWS_AS(check(cudnn_pass("forward"), small, backend, 5), Unsupported);
  }
  CHECK(check(cudnn_pass("forward"), small, backend, 6).passed);
}

TEST_CASE("before 9.6 the sums of dq are cleared", "[kernels][cudnn]") {
  const Variable old = version("90501");
  CHECK(refusal<Error>("backward", kSmall).empty());
}

TEST_CASE("cuDNN is there, absent, or too old", "[kernels][cudnn]") {
  CHECK(fake_api().version == 91900);
  CHECK(cudnn::version_text(91900) == "9.19.0");
  CHECK(cudnn::version_text(90501) == "9.5.1");
  CHECK(cudnn::version_text(8907) == "8.9.7");
  const std::string none = why_not_loaded("libno-such-cudnn.so.9");
  CHECK(none.rfind("cuDNN is not available: libno-such-cudnn.so.9", 0) == 0);
  CHECK(none.find('\n') == std::string::npos);
  CHECK(why_not_loaded(PACELINE_OLD_NCCL).rfind("cuDNN is not usable: ", 0) == 0);
  const Variable old = version("8907");
  CHECK(why_not_loaded(PACELINE_FAKE_CUDNN) == "cuDNN 8.9.7 is too old: 9.0.0 or later is needed");
}

TEST_CASE("what cuDNN refuses is one line in its words", "[kernels][cudnn]") {
  const std::string small =
      "attention-cudnn forward bf16 batch=1 heads=2 kv_heads=1 queries=6 keys=6 head_dim=16 "
      "causal=1: ";
  {
    const Variable none = fault("no-engine");
    CHECK(refusal<Unsupported>("forward", kSmall) ==
          "cudnn: " + small + "cuDNN 9.19.0 has no engine for it on this device");
  }
  {
    const Variable none = fault("no-plan");
    CHECK(refusal<Unsupported>("forward", kSmall) ==
          "cudnn: " + small + "CUDNN_STATUS_NOT_SUPPORTED: the engine needs another device");
  }
  {
    const Variable first = fault("bad-first-plan");  // the second engine does it
    CHECK(refusal<Error>("forward", kSmall).empty());
  }
  {
    const Variable asleep = fault("execute");
    CHECK(refusal<Error>("forward", kSmall) ==
          "cudnn: " + small + "CUDNN_STATUS_EXECUTION_FAILED: the device fell asleep");
  }
  const Variable driver = fault("create");
  CHECK(refusal<Error>("forward", kSmall) ==
        "cudnn: a handle: CUDNN_STATUS_NOT_INITIALIZED: no driver");
}

TEST_CASE("cases cuDNN is not asked for say why", "[kernels][cudnn]") {
  Case documents = kSmall;
  documents.shape.set("documents", 2);
  CHECK(no_attention_graph(documents) == "documents are not given to cuDNN");
  CHECK(no_attention_graph(attention_case(DType::F32, 1, 1, 1, 8, 8, 64, 0)) ==
        "fp32 is not a type of cuDNN's attention");
  CHECK(no_attention_graph(attention_case(DType::Bf16, 1, 1, 1, 8, 8, 256, 0)) ==
        "head_dim above 128 has no backward pass in cuDNN");
  CHECK(no_attention_graph(attention_case(DType::Bf16, 1, 1, 1, 9, 4, 64, 1)) ==
        "cuDNN has no queries that see no key");
  CHECK(no_attention_graph(attention_case(DType::Bf16, 1, 1, 1, 9, 4, 64, 0)).empty());
  CHECK(refusal<Unsupported>("backward", documents)
            .find("documents are not given to cuDNN; the kernel attention does it") !=
        std::string::npos);
}

TEST_CASE("a graph that cuDNN would not take is refused by the stand-in", "[kernels][cudnn]") {
  const cudnn::Api api = fake_api();
  const cudnn::OwnedHandle handle = cudnn::make_handle(api);
  const auto said = [&](cudnn::Graph graph) -> std::string {
    try {
      const cudnn::Plan plan(api, graph, {handle.get(), nullptr}, "graph");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const cudnn::Graph whole = attention_forward_graph(kSmall);
  CHECK(said(whole).empty());
  cudnn::Graph broken = whole;
  broken.operations.erase(broken.operations.begin());
  CHECK(said(broken).find("read before it is written") != std::string::npos);
  broken = whole;
  broken.operations.pop_back();
  CHECK(said(broken).find("a virtual tensor that nothing reads") != std::string::npos);
  broken = whole;
  broken.tensors[0].sizes[3] += 8;
  CHECK(said(broken).find("a product's inner sizes") != std::string::npos);
  broken = whole;
  broken.tensors[0].strides[1] = 0;
  CHECK(said(broken).find("sizes and strides are above 0") != std::string::npos);
}

TEST_CASE("a library's kernel stands beside this program's own", "[kernels][cudnn]") {
  const Operation* own = own_instead(cudnn_pass("backward"));
  REQUIRE(own != nullptr);
  CHECK(std::string(own->kernel) == "attention");
  CHECK(std::string(own->pass) == "backward");
  CHECK(own_instead(*own) == nullptr);
  CHECK(library_lacks(*own, kSmall).empty());
  CHECK(own->tensors(kSmall).size() == cudnn_pass("backward").tensors(kSmall).size());
  CHECK(!cpu_backend().has(cudnn_pass("forward")));
}
