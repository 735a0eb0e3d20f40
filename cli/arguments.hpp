// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

/// What subcommands say about their arguments. CLI11 stays behind this header: a file that includes
/// it takes ten times as long to compile.
namespace paceline::cli {

/// How an argument is given, beyond its name and what it is for.
struct Given {
  const char* value = nullptr;  ///< what --help calls the value, "FILE"; by itself the type
  bool required = false;
  bool one_each = false;  ///< of a list: one value each time, the option may be repeated
  char separator = '\0';  ///< of a list: also between the values of one word
  int least = 0;          ///< of a list: how many values; of a number: the smallest
  int most = 0;           ///< 0: no limits
};

/// Adds the subcommand `name`; `help` is its line in `paceline --help`, `footer` follows its
/// options.
CLI::App& add_command(CLI::App& program, const char* name, const char* help, const char* footer);
/// What the subcommand does once its arguments are read.
void on_call(CLI::App& command, std::function<void()> work);

/// Adds an option (`name` = "--x") or a positional argument ("X"). The value keeps what it has when
/// the argument is not given.
void add_option(CLI::App& command, const char* name, std::string& value, const char* help,
                const Given& given = {});
void add_option(CLI::App& command, const char* name, std::optional<std::string>& value,
                const char* help, const Given& given = {});
void add_option(CLI::App& command, const char* name, std::vector<std::string>& value,
                const char* help, const Given& given = {});
void add_option(CLI::App& command, const char* name, int& value, const char* help,
                const Given& given = {});
/// Adds `--x`, which takes no value.
void add_flag(CLI::App& command, const char* name, bool& value, const char* help);

/// What --help knows of an option or argument.
struct OptionWords {
  std::vector<std::string> names;  ///< "--json"; none: an argument, which `value` names
  std::string value;               ///< "FILE"; empty: takes none
  std::string help;
};
/// What --help knows of a command.
struct CommandWords {
  std::string name, help, footer;
  std::vector<OptionWords> options;
};
/// Of the program, which comes first, and its subcommands in the order of --help: what shell
/// completion and the manual are made from.
std::vector<CommandWords> describe(const CLI::App& program);

}  // namespace paceline::cli
