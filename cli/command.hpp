// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace CLI {
class App;
}

/// What every subcommand shares. A subcommand `x` is one file, cli/x.cpp, and one line in
/// cli/commands.def. The file defines `add_x`, which adds its CLI::App with options and a callback
/// that does the work and sets the exit code; it throws base::Error for bad input.
namespace paceline::cli {

// Exit codes: the contract of the command line.
inline constexpr int kDone = 0;
inline constexpr int kAnswerIsNo = 1;  ///< the run is fine, the answer is "no": does not fit, ...
inline constexpr int kBadInput = 2;
inline constexpr int kMissing = 3;  ///< needed hardware or library is missing

#define PACELINE_COMMAND(name) void add_##name(CLI::App& program, int& exit_code);
#include "cli/commands.def"
#undef PACELINE_COMMAND

/// Adds `--json FILE` with the same words everywhere. Empty = not given, "-" = standard output.
void add_json_option(CLI::App& command, std::string& file);

/// Writes text to standard output and flushes. A reader that went away (`| head`) is no error; a
/// full disk is a base::Error. Nothing under --quiet.
void print(std::string_view text);
/// The same, also under --quiet: what was asked for with `-`.
void print_always(std::string_view text);
/// Whether --quiet was given: no progress either.
bool quiet();
/// Whether --verbose was given.
bool verbose();
/// The answer of a command: its text, and its JSON where --json asks for it. With `--json -` the
/// JSON alone goes to standard output, so that it can be piped.
void answer(std::string_view text, std::string_view json, const std::string& json_file);

}  // namespace paceline::cli
