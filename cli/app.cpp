// SPDX-License-Identifier: Apache-2.0
#include "cli/app.hpp"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "models/hardware/device.hpp"

namespace paceline::cli {
namespace {

using AddCommand = void (*)(CLI::App&, int&);
constexpr AddCommand kCommands[] = {
#define PACELINE_COMMAND(name) add_##name,
#include "cli/commands.def"
#undef PACELINE_COMMAND
};

int complain(const std::string& message, int code) {
  std::string line = "paceline: " + message;
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

/// "paceline list" for the innermost subcommand that was named.
const CLI::App& innermost(const CLI::App& program) {
  const CLI::App* at = &program;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string unknown(const std::string& what, const std::string& word,
                    const std::vector<std::string>& names) {
  return "unknown " + what + " " + base::quote(word) + "; " + base::suggest(word, names, "one of");
}

/// One line that says what is wrong with the arguments and what would be right.
std::string explain(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = innermost(program);
  const std::string help = "; see '" + full_name(command) + " --help'";
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return base::one_line(error.what(), 400) + help;
  const std::string& word = extras.front();
  std::vector<std::string> names;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : command.get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
    return unknown("option", word.substr(0, word.find('=')), names) + help;
  }
  if (&command != &program) return "unexpected argument " + base::quote(word) + help;
  for (const CLI::App* sub : program.get_subcommands({})) names.push_back(sub->get_name());
  return unknown("command", word, names) + help;
}

/// Half-written files go, finished ones stay, and the signal ends the process as it always does.
extern "C" void end_interrupted(int signal) {
  base::remove_temporaries();
  std::raise(signal);  // the default action again (SA_RESETHAND), once the handler returns
}

void handle_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;  // nohup and background jobs ignore some
    action.sa_handler = end_interrupted;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

/// How much the program says; set once, while the arguments are read.
enum class Speech { Normal, Quiet, Verbose };
Speech speech = Speech::Normal;

void speak(Speech how) {
  if (speech != Speech::Normal && speech != how)
    throw base::Error("--quiet and --verbose", "contradict each other", "leave one of them out");
  speech = how;
}

/// --quiet and --verbose of every command.
void add_speech(CLI::App& program) {
  for (CLI::App* command : program.get_subcommands({})) {
    command->add_flag_callback(
        "--quiet", [] { speak(Speech::Quiet); },
        "print nothing but errors: files and the exit status are the answer");
    command->add_flag_callback(
        "--verbose", [] { speak(Speech::Verbose); },
        "also say on standard error what was read and how long it took");
  }
}

/// "paceline 0.1.0: run took 0.52 s and 84.1 MiB; specs of /usr/share/paceline/specs".
void say_effort(const CLI::App& command, double seconds) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::string folders;
  for (const std::string& folder : models::spec_folders())
    folders += (folders.empty() ? "" : ":") + folder;
  std::fprintf(stderr, "paceline " PACELINE_VERSION ": %s took %s and %s; specs of %s\n",
               command.get_name().c_str(), base::format_seconds(base::Seconds(seconds)).c_str(),
               base::format_bytes(base::Bytes(static_cast<double>(usage.ru_maxrss) * 1024)).c_str(),
               folders.c_str());
}

int parse_and_run(int argc, char** argv) {
  const auto began = std::chrono::steady_clock::now();
  CLI::App program{
      "Predicts the step time and memory of distributed training from a model, a cluster and a "
      "parallel layout.",
      "paceline"};
  program.set_version_flag("--version", "paceline " PACELINE_VERSION);
  program.require_subcommand(0, 1);
  program.get_formatter()->column_width(28);
  program.footer(
      "Exit status: 0 done, 1 the answer is \"no\" (does not fit, bound exceeded), 2 bad input,\n"
      "3 something needed is missing. 'paceline COMMAND --help' explains a command.");
  int exit_code = kDone;
  for (const AddCommand add : kCommands) add(program, exit_code);
  add_speech(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_always(program.help());
    return kDone;
  } catch (const CLI::CallForVersion&) {
    print("paceline " PACELINE_VERSION "\n");
    return kDone;
  } catch (const CLI::ParseError& error) {
    return complain(explain(program, error), kBadInput);
  }
  if (program.get_subcommands().empty()) print(program.help());
  if (speech == Speech::Verbose) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    say_effort(innermost(program), took.count());
  }
  return exit_code;
}

}  // namespace

void add_json_option(CLI::App& command, std::string& file) {
  add_option(command, "--json", file, "also write the answer as JSON ('-' = standard output)",
             {.value = "FILE"});
}

bool quiet() { return speech == Speech::Quiet; }

bool verbose() { return speech == Speech::Verbose; }

void print(std::string_view text) {
  if (!quiet()) print_always(text);
}

void print_always(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) return;
  throw base::Error("standard output", std::strerror(errno));
}

void answer(std::string_view text, std::string_view json, const std::string& json_file) {
  if (json_file == "-") return print_always(json);
  if (!json_file.empty()) base::write_file(json_file, json);
  print(text);
}

int run(int argc, char** argv) {
  // A closed pipe must not hide the exit code: print() sees EPIPE instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // ignored, it would hide how our own processes end
  handle_interrupts();
  try {
    return parse_and_run(argc, argv);
  } catch (const base::MissingError& error) {
    return complain(error.what(), kMissing);
  } catch (const base::NoProgress& error) {
    return complain(error.what(), kAnswerIsNo);
  } catch (const base::Error& error) {
    return complain(error.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain("out of memory: the input asks for more than this machine has", kBadInput);
  } catch (const std::exception& error) {
    return complain(std::string("internal error: ") + error.what(), kBadInput);
  }
}

}  // namespace paceline::cli
