// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace paceline::cli {
namespace {

CLI::Option* add(CLI::App& command, const char* name, auto& value, const char* help,
                 const Given& given) {
  CLI::Option* option = command.add_option(name, value, help);
  if (given.value != nullptr) option->type_name(given.value);
  return option->required(given.required);
}

}  // namespace

CLI::App& add_command(CLI::App& program, const char* name, const char* help, const char* footer) {
  CLI::App* command = program.add_subcommand(name, help);
  command->footer(footer);
  return *command;
}

void on_call(CLI::App& command, std::function<void()> work) { command.callback(std::move(work)); }

void add_option(CLI::App& command, const char* name, std::string& value, const char* help,
                const Given& given) {
  add(command, name, value, help, given);
}

void add_option(CLI::App& command, const char* name, std::optional<std::string>& value,
                const char* help, const Given& given) {
  add(command, name, value, help, given);
}

void add_option(CLI::App& command, const char* name, std::vector<std::string>& value,
                const char* help, const Given& given) {
  CLI::Option* option = add(command, name, value, help, given);
  if (given.one_each) option->type_size(1)->allow_extra_args(false);
  if (given.separator != '\0') option->delimiter(given.separator);
  if (given.most > 0) option->expected(given.least, given.most);
}

void add_option(CLI::App& command, const char* name, int& value, const char* help,
                const Given& given) {
  CLI::Option* option = add(command, name, value, help, given);
  if (given.most > 0) option->check(CLI::Range(given.least, given.most));
}

void add_flag(CLI::App& command, const char* name, bool& value, const char* help) {
  command.add_flag(name, value, help);
}

}  // namespace paceline::cli
