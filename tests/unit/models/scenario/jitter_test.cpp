// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/jitter.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/scenario_of.hpp"
#include "tests/temporary_folder.hpp"

using namespace paceline;

namespace {

std::string jitter_error(const std::string& more) {
  try {
    ::tests::scenario_of(
        "model: {hidden: 1024, layers: 16, heads: 16, ffn: 4096, vocab: 32000}\n"
        "cluster: {preset: dgx-a100, nodes: 1}\n"
        "batch: {global: 64, micro: 2, sequence: 512}\n" +
        more);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& more, const std::string& text) {
  const std::string error = jitter_error(more);
  CAPTURE(more, error, text);
  CHECK(error.find(text) != std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
  return error.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("jitter: everything has its place and its default", "[scenario]") {
  const models::Scenario s = ::tests::small_gpt(
      "jitter: {compute: {sigma: 0.1, tail: {probability: 0.01, factor: 3}}, links: {trace: [1, "
      "1.5]}, stragglers: [{rank: 0, factor: 1.2}]}");
  REQUIRE(s.jitter.has_value());
  CHECK(s.jitter->compute.sigma == 0.1);
  CHECK(s.jitter->compute.tail_probability == 0.01);
  CHECK(s.jitter->compute.tail_factor == 3);
  CHECK(s.jitter->compute.tail_shape == 3);
  CHECK(s.jitter->links.trace == std::vector<double>{1, 1.5});
  CHECK(s.jitter->stragglers.front().factor == 1.2);
  CHECK(s.jitter->seed == 1);
  CHECK(s.jitter->repetitions == 200);
  CHECK(s.resolved.find("seed: 1, repetitions: 200") != std::string::npos);
  CHECK_FALSE(::tests::small_gpt().jitter.has_value());
}

TEST_CASE("jitter: seed and factors are part of the question", "[scenario]") {
  const std::string hash = ::tests::small_gpt("jitter: {compute: {sigma: 0.1}}").hash;
  CHECK(::tests::small_gpt("jitter: {compute: {sigma: 0.2}}").hash != hash);
  CHECK(::tests::small_gpt("jitter: {compute: {sigma: 0.1}, seed: 2}").hash != hash);
  CHECK(::tests::small_gpt("jitter: {compute: {sigma: 0.1}, seed: 1}").hash == hash);
}

TEST_CASE("jitter: a trace from a file counts by what it holds", "[scenario]") {
  const scratch::Folder folder;
  const auto path = folder.path() / "paceline_jitter_trace.txt";
  const std::string yaml = "jitter: {compute: {trace: " + path.string() + "}}";
  const auto write = [&](const char* text) { std::ofstream(path) << text; };
  write("# measured\n1.0\n\n  0.98 \r\n1.3\n");
  const models::Scenario s = ::tests::small_gpt(yaml);
  CHECK(s.jitter->compute.trace == std::vector<double>{1.0, 0.98, 1.3});
  write("1.0\n0.98\n1.4\n");
  CHECK(::tests::small_gpt(yaml).hash != s.hash);
  write("1.0\n  fast\n");
  CHECK(says(yaml, "paceline_jitter_trace.txt:2:3"));
  write("# nothing\n");
  CHECK(says(yaml, "holds no factor"));
  std::filesystem::remove(path);
  CHECK(says(yaml, "paceline_jitter_trace.txt"));
}

TEST_CASE("jitter: what is wrong is named with its place", "[scenario]") {
  CHECK(says("jitter: {compute: {sigma: -1}}", "test.yaml:4:27: jitter.compute.sigma"));
  CHECK(says("jitter: {compute: {sigma: nan}}", "jitter.compute.sigma"));
  CHECK(says("jitter: {compute: {sigma: 4}}", "jitter.compute.sigma"));
  CHECK(says("jitter: {compute: {sgima: 1}}", "unknown key"));
  CHECK(says("jitter: {compute: 0.1}", "jitter.compute: expected a map"));
  CHECK(says("jitter: {links: {tail: {probability: 1.5, factor: 2}}}", "tail.probability"));
  CHECK(
      says("jitter: {links: {tail: {probability: 0.5}}}", "jitter.links.tail.factor: is missing"));
  CHECK(says("jitter: {links: {tail: {probability: 0.5, factor: 0.5}}}", "tail.factor"));
  CHECK(says("jitter: {links: {tail: {probability: 0.5, factor: 2, shape: 1}}}", "tail.shape"));
  CHECK(says("jitter: {links: {trace: []}}", "jitter.links.trace: holds no factor"));
  CHECK(says("jitter: {links: {trace: [1, 0]}}", "jitter.links.trace"));
  CHECK(says("jitter: {links: {trace: [1, [2]]}}", "expected a factor"));
  CHECK(says("jitter: {stragglers: [{rank: 8, factor: 2}]}", "ranks are 0 to 7"));
  CHECK(says("jitter: {stragglers: [{rank: 1, factor: 0.5}]}", "jitter.stragglers.0.factor"));
  CHECK(says("jitter: {stragglers: [{rank: 1, factor: 2}, {rank: 1, factor: 3}]}",
             "rank 1 stands twice"));
  CHECK(says("jitter: {stragglers: [3]}", "jitter.stragglers.0: expected a map"));
  CHECK(says("jitter: {seed: -1}", "jitter.seed"));
  CHECK(says("jitter: {repetitions: 0}", "jitter.repetitions"));
  CHECK(says("jitter: {repetitions: 1e7}", "jitter.repetitions"));
  CHECK(says("jitter: yes", "jitter: expected a map"));
}

TEST_CASE("dispatch: short form, long form and what is wrong", "[scenario]") {
  const auto dispatch = [](const std::string& text) {
    return ::tests::small_gpt("schedule: {name: 1f1b, dispatch: " + text + "}").schedule.dispatch;
  };
  CHECK(dispatch("fixed").policy == models::Dispatch::Fixed);
  CHECK(dispatch("ready").policy == models::Dispatch::Ready);
  CHECK(dispatch("ready").buffers == 2);
  const models::DispatchOptions d = dispatch("{policy: ready, buffers: 4, coordination: 5 us}");
  CHECK(d.buffers == 4);
  CHECK(d.coordination.value == 5e-6);
  CHECK(dispatch("{policy: ready, buffers: unlimited}").buffers == 0);
  const auto wrong = [](const std::string& text, const std::string& message) {
    return says("schedule: {name: 1f1b, dispatch: " + text + "}", message);
  };
  CHECK(wrong("eager", "schedule.dispatch: unknown value"));
  CHECK(wrong("{buffers: 2}", "schedule.dispatch.policy: is missing"));
  CHECK(wrong("{policy: fixed, buffers: 2}", "schedule.dispatch.buffers: means nothing"));
  CHECK(wrong("{policy: ready, buffers: 0}", "schedule.dispatch.buffers"));
  CHECK(wrong("{policy: ready, buffers: many}", "schedule.dispatch.buffers"));
  CHECK(wrong("{policy: ready, coordination: 5}", "schedule.dispatch.coordination"));
  CHECK(wrong("{policy: ready, coordination: -5 us}", "schedule.dispatch.coordination"));
  CHECK(wrong("{policy: ready, buffer: 1}", "unknown key"));
}
