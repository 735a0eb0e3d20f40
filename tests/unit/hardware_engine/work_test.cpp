// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/work.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace paceline;

namespace {

/// Attention of a small layer by the kernel of that name.
models::Op attention_by(std::string_view kernel) {
  models::Op op;
  op.name = "attention";
  op.kind = models::OpKind::Attention;
  op.kernel = kernel;
  op.m = op.n = 16;
  op.head_dim = 8;
  op.heads = op.kv_heads = 2;
  return op;
}

}  // namespace

TEST_CASE("where cuDNN does not do attention, this program's kernel stands for it", "[hardware]") {
  const kernels::Backend& cpu = kernels::cpu_backend();
  std::string note;
  const hardware::Work own = hardware::prepare(attention_by("attention"), cpu, 1, note);
  CHECK(note.empty());
  const hardware::Work instead = hardware::prepare(attention_by("attention-cudnn"), cpu, 1, note);
  CHECK(note == "attention: attention of this program for attention-cudnn");
  REQUIRE(instead.calls.size() == 1);
  CHECK(instead.calls[0].operation == own.calls[0].operation);
  CHECK(hardware::bytes_of(attention_by("attention-cudnn"), cpu) ==
        hardware::bytes_of(attention_by("attention"), cpu));
  hardware::enqueue(instead, cpu, {});
  CHECK_NOTHROW(hardware::check_finite(instead, "attention"));
}
