// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kManHelp =
    "Prints the manual page, made from the texts of --help:\n"
    "  paceline man | man -l -\n"
    "  paceline man > ~/.local/share/man/man1/paceline.1";

/// Text as roff reads it back: no line begins a request, hyphens are those of options.
std::string roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string one_paragraph(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string option_text(const OptionWords& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
  std::string head = names.empty() ? option.value : names;
  std::string out = ".TP\n\\fB" + roff(head) + "\\fR";
  if (!names.empty() && !option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  return out + "\n" + roff(one_paragraph(option.help)) + "\n";
}

std::string manual(const std::vector<CommandWords>& commands) {
  const CommandWords& program = commands.front();
  std::string out =
      ".TH PACELINE 1 \"\" \"Paceline " PACELINE_VERSION "\"\n.SH NAME\npaceline \\- " +
      roff(program.help) + "\n.SH SYNOPSIS\n\\fBpaceline\\fR \\fICOMMAND\\fR ...\n.SH OPTIONS\n";
  for (const OptionWords& option : program.options) out += option_text(option);
  out += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i)
    out += ".TP\n\\fB" + commands[i].name + "\\fR\n" + roff(commands[i].help) + "\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    out += ".SH " + upper(commands[i].name) + "\n.nf\n" + roff(commands[i].footer) + "\n.fi\n";
    for (const OptionWords& option : commands[i].options) out += option_text(option);
  }
  return out + ".SH EXIT STATUS\n" + roff(one_paragraph(program.footer)) + "\n";
}

}  // namespace

void add_man(CLI::App& program, int&) {
  CLI::App& command = add_command(program, "man", "print the manual page", kManHelp);
  on_call(command, [&program] { print(manual(describe(program))); });
}

}  // namespace paceline::cli
