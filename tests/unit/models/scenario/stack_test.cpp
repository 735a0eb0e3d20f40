// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/stack.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/scenario_of.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

Stack stack_of(const std::string& yaml) {
  const base::Document document = base::parse_yaml(yaml, "test.yaml");
  return read_stack(document, *base::find_path(document.root, "stack"));
}

std::string refused(const std::string& yaml) {
  return tests::message_of([&] { stack_of(yaml); });
}

}  // namespace

TEST_CASE("every stack names its source, and at most six numbers with theirs", "[stack]") {
  const auto names = spec_names("stack");
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    INFO(name);
    const Stack stack = read_stack(name, "");
    CHECK(stack.name == name);
    CHECK(stack.source.size() > 10);
    CHECK(stack.numbers.size() <= 6);
    for (const StackNumber& n : stack.numbers) CHECK_FALSE(n.source.empty());
  }
}

TEST_CASE("a map overrides single switches of a named stack", "[stack]") {
  const Stack plain = stack_of("stack: megatron-2021-04");
  const Stack changed = stack_of(
      "stack: {name: megatron-2021-04, norm: eager, dropout: false, attention: flash-2, "
      "tp_overlap: bulk, partition: balanced, nccl: \"2.21\"}");
  CHECK(plain.norm == NormKernel::Fused);
  CHECK(changed.norm == NormKernel::Eager);
  CHECK(plain.dropout);
  CHECK_FALSE(changed.dropout);
  CHECK(changed.attention == "flash-2");
  CHECK(changed.tp_overlap == TpOverlap::Bulk);
  CHECK(changed.partition == Partition::Balanced);
  CHECK(changed.nccl == "2.21");
  // The rest stays.
  CHECK(changed.sustained == plain.sustained);
  CHECK(changed.accumulation == plain.accumulation);
  CHECK(changed.p2p_scatter_gather == plain.p2p_scatter_gather);
  CHECK(changed.numbers.size() == plain.numbers.size());
}

TEST_CASE("a number that is stated again replaces the stack's", "[stack]") {
  const Stack s =
      stack_of("stack: {name: megatron-2021-04, numbers: {sustained: {value: 0.5, source: test}}}");
  CHECK(s.sustained == 0.5);
  CHECK(s.numbers.size() == read_stack("megatron-2021-04", "").numbers.size());
}

TEST_CASE("numbers carry units, ranges and a source", "[stack]") {
  const auto with = [](const std::string& number) {
    return "stack: {name: zero-bubble-2023, numbers: {" + number + "}}";
  };
  const Stack s = stack_of(with("microbatch_host: {value: 3 us, source: test}"));
  CHECK(s.microbatch_host.value == Approx(3e-6));
  CHECK(stack_of(with("runtime_memory: {value: 2 GiB, source: test}")).runtime_memory.value ==
        2.0 * (1 << 30));
  const std::pair<const char*, const char*> cases[] = {
      {"sustained: {value: 2, source: test}", "stack.numbers.sustained.value: "},
      {"sustained: {value: nan, source: test}", "stack.numbers.sustained.value: "},
      {"sustained: {value: 0, source: test}", "stack.numbers.sustained.value: "},
      {"sustained: {value: 0.9}", "stack.numbers.sustained.source: is missing"},
      {"sustained: 0.9", "stack.numbers.sustained: expected a map"},
      {"sustaned: {value: 0.9, source: test}", "did you mean 'sustained'?"},
      {"step_overhead: {value: 3, source: test}", "stack.numbers.step_overhead.value: "},
      {"step_overhead: {value: 3 h, source: test}", "stack.numbers.step_overhead.value: "},
      {"microbatch_host: {value: 11 s, source: test}",
       "stack.numbers.microbatch_host.value: is out of range; at most 10"},
      {"runtime_memory: {value: 3 s, source: test}", "stack.numbers.runtime_memory.value: "},
      {"tp_factor: {value: 1, source: test, more: 1}", "stack.numbers.tp_factor.more: unknown key"},
  };
  for (const auto& [number, expected] : cases) {
    const std::string message = refused(with(number));
    INFO(number << " -> " << message);
    CHECK(message.find(expected) != std::string::npos);
    CHECK(message.starts_with("test.yaml:1:"));
  }
}

TEST_CASE("more than six numbers are refused", "[stack]") {
  const std::string one = ": {value: 1, source: test}, ";
  const std::string six = "sustained" + one + "elementwise" + one + "tp_exposed" + one +
                          "tp_factor" + one + "overlap_slowdown" + one + "attention_factor" + one;
  const std::string head = "stack: {name: zero-bubble-2023, numbers: {";
  const std::size_t own = read_stack("zero-bubble-2023", "").numbers.size();
  const std::string message =
      refused(head + six + "logit_bytes" + one + "activation_overhead" + one + "}}");
  INFO(own << " " << message);
  CHECK(message.find("a stack has at most six numbers; explain the rest by a kernel choice") !=
        std::string::npos);
  CHECK(message.starts_with("test.yaml:1:"));
}

TEST_CASE("unknown names and keys are refused at their place", "[stack]") {
  const std::pair<const char*, const char*> cases[] = {
      {"stack: megatron-2021", "test.yaml:1:8: stack: "},
      {"stack: {name: megatron-2021}", "test.yaml:1:15: stack.name: "},
      {"stack: {norm: eager}", "stack.name: is missing"},
      {"stack: {name: generic, nrom: eager}", "test.yaml:1:24: stack.nrom: unknown key"},
      {"stack: {name: generic, norm: slow}", "test.yaml:1:30: stack.norm: unknown value"},
      {"stack: {name: generic, dropout: 1}",
       "test.yaml:1:33: stack.dropout: expected true or false"},
      {"stack: {name: generic, dropout: yes}", "write true"},
      {"stack: {name: generic, source: me}", "stack.source: unknown key"},
      {"stack: [a]", "test.yaml:1:8: stack: must be a name"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = refused(text);
    INFO(text << " -> " << message);
    CHECK(message.find(expected) != std::string::npos);
  }
}

TEST_CASE("a stack in a scenario sets the attention kernel unless the scenario names one",
          "[stack]") {
  CHECK(tests::small_gpt("stack: megatron-2021-04").attention == "megatron-fused");
  CHECK(tests::small_gpt("stack: {name: megatron-2021-04, attention: flash-2}").attention ==
        "flash-2");
  CHECK(tests::small_gpt("stack: megatron-2021-04\nattention: eager").attention == "eager");
}
