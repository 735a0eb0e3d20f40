// SPDX-License-Identifier: Apache-2.0
// Tables of actions as PyTorch writes them: what is read prints as a Program that reads back, and
// verification answers in one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/program_file.hpp"
#include "sim/verify.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paceline;
  fuzz::only_clear_errors([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const sim::ProgramFile file = sim::parse_action_table(text, "fuzz.csv");
    const sim::Program& program = file.program;
    if (!(sim::parse_program(sim::to_text(program), "again") == program)) std::abort();
    sim::verify(program, &file.places);
    const int slots = sim::required_buffers(program);
    sim::check_buffers(program, slots, &file.places);
    if (slots > 1) sim::check_buffers(program, slots - 1, &file.places);  // says why
  });
  return 0;
}
