// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/message.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/kinds.hpp"
#include "reports/answer.hpp"
#include "sim/predict.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kCompletionHelp =
    "Prints what a shell needs to complete commands, options and names:\n"
    "  bash   eval \"$(paceline completion bash)\" in ~/.bashrc\n"
    "  zsh    eval \"$(paceline completion zsh)\" in ~/.zshrc, after compinit\n"
    "  fish   paceline completion fish > ~/.config/fish/completions/paceline.fish";

/// Words that an option or the first argument of a command takes; empty: a file, or anything.
std::vector<std::string> values_of(const std::string& command, const std::string& option) {
  std::vector<std::string> values;
  if (option == "--engine")
    for (const auto& entry : sim::kEngines) values.emplace_back(entry.name);
  if (option == "--fidelity")
    for (const auto& entry : sim::kFidelities) values.emplace_back(entry.name);
  if (command == "list" && option.empty())
    for (const Kind& kind : kinds()) values.emplace_back(kind.name);
  if (command == "completion" && option.empty()) values = {"bash", "zsh", "fish"};
  return values;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::string> option_names(const CommandWords& command) {
  std::vector<std::string> names;
  for (const OptionWords& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// The first line of a help text: shells show one.
std::string first_line(const std::string& help) { return help.substr(0, help.find('\n')); }

std::string bash_script(const std::vector<CommandWords>& commands) {
  std::vector<std::string> subcommands;
  for (std::size_t i = 1; i < commands.size(); ++i) subcommands.push_back(commands[i].name);
  std::string out =
      "_paceline() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n"
      "  done\n"
      "  local words= values=\n"
      "  case $command in\n"
      "    '') words='" +
      joined_words(subcommands) + " " + joined_words(option_names(commands.front())) + "' ;;\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    out += "    " + commands[i].name + ") words='" + joined_words(option_names(commands[i])) + "'";
    const std::string first = joined_words(values_of(commands[i].name, ""));
    if (!first.empty()) out += "; values='" + first + "'";
    out += " ;;\n";
  }
  out += "  esac\n  case $before in\n";
  for (const char* option : {"--engine", "--fidelity"})
    out += "    " + std::string(option) + ") words='' values='" +
           joined_words(values_of("", option)) + "' ;;\n";
  return out +
         "  esac\n"
         "  [[ $word == -* || -z $command ]] || words=\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words $values\" -- \"$word\")\n"
         "  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "}\n"
         "complete -o filenames -F _paceline paceline\n";
}

/// zsh runs the functions of bash.
std::string zsh_script(const std::vector<CommandWords>& commands) {
  std::string bash = bash_script(commands);
  // zsh has neither mapfile nor compgen of its own; bashcompinit brings the second.
  for (const char* list : {"compgen -W \"$words $values\"", "compgen -f"}) {
    const std::string from = "mapfile -t COMPREPLY < <(" + std::string(list) + " -- \"$word\")";
    const std::string to = "COMPREPLY=(${(f)\"$(" + std::string(list) + " -- \"$word\")\"})";
    bash.replace(bash.find(from), from.size(), to);
  }
  return "autoload -U +X bashcompinit && bashcompinit\n" + bash;
}

std::string fish_script(const std::vector<CommandWords>& commands) {
  std::string out = "complete -c paceline -e\n";
  const auto line = [&](const std::string& condition, const std::string& rest,
                        const std::string& help) {
    out += "complete -c paceline -n " + reports::shell_word(condition) + rest + " -d " +
           reports::shell_word(first_line(help)) + "\n";
  };
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const CommandWords& command = commands[i];
    const std::string condition =
        i == 0 ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command.name;
    if (i > 0) line("__fish_use_subcommand", " -f -a " + command.name, command.help);
    const std::string first = joined_words(values_of(command.name, ""));
    if (!first.empty()) line(condition, " -f -a " + reports::shell_word(first), command.help);
    for (const OptionWords& option : command.options) {
      std::string rest;
      for (const std::string& name : option.names)
        rest += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (rest.empty()) continue;
      const std::string values = joined_words(values_of(command.name, option.names.back()));
      if (!option.value.empty())
        rest += values.empty() ? " -r -F" : " -x -a " + reports::shell_word(values);
      line(condition, rest, option.help);
    }
  }
  return out;
}

std::string completion_script(const std::string& shell, const std::vector<CommandWords>& commands) {
  static constexpr std::array<
      std::pair<const char*, std::string (*)(const std::vector<CommandWords>&)>, 3>
      kShells{{{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};
  std::vector<std::string> names;
  for (const auto& [name, script] : kShells) {
    if (shell == name) return script(commands);
    names.emplace_back(name);
  }
  throw base::Error("completion", "unknown shell " + base::quote(shell),
                    base::suggest(shell, names, "one of"));
}

}  // namespace

void add_completion(CLI::App& program, int&) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command =
      add_command(program, "completion", "print completion for a shell", kCompletionHelp);
  add_option(command, "SHELL", *shell, "bash, zsh or fish", {.required = true});
  on_call(command, [shell, &program] { print(completion_script(*shell, describe(program))); });
}

}  // namespace paceline::cli
