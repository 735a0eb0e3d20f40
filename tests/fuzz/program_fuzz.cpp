// SPDX-License-Identifier: Apache-2.0
// Program text: what parses prints and parses again to the same Program, and verification answers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "sim/program.hpp"
#include "sim/program_places.hpp"
#include "sim/verify.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paceline;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    sim::ProgramPlaces places;
    const sim::Program program = sim::parse_program(text, "fuzz", &places);
    if (!(sim::parse_program(sim::to_text(program), "again") == program)) std::abort();
    sim::verify(program, &places);
    if (!sim::runs_with_buffers(program, sim::required_buffers(program))) std::abort();
  } catch (const base::Error&) {
    // Malformed text and programs that cannot run are answered, not crashed on.
  }
  return 0;
}
