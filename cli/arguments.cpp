// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

namespace paceline::cli {
namespace {

CLI::Option* add(CLI::App& command, const char* name, auto& value, const char* help,
                 const Given& given) {
  CLI::Option* option = command.add_option(name, value, help);
  if (given.value != nullptr) option->type_name(given.value);
  return option->required(given.required);
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) words.value = option.get_type_name();
  if (words.names.empty()) words.value = option.get_name();
  words.help = option.get_description();
  return words;
}

CommandWords words_of(const CLI::App& app) {
  CommandWords words{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options()) words.options.push_back(words_of(*option));
  return words;
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
  CLI::Option* option = add(command, name, value, help, given);
  // An output that goes nowhere would not be missed until it is looked for.
  const bool file = given.value != nullptr && std::string_view(given.value).starts_with("FILE");
  if (!file || name[0] != '-') return;
  option->check(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); });
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

std::vector<CommandWords> describe(const CLI::App& program) {
  std::vector<CommandWords> commands{words_of(program)};
  for (const CLI::App* command : program.get_subcommands({}))
    commands.push_back(words_of(*command));
  return commands;
}

}  // namespace paceline::cli
