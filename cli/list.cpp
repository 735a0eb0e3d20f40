// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/table.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/kinds.hpp"

namespace paceline::cli {
namespace {

constexpr const char* kHelp =
    "Examples:\n"
    "  paceline list                     the kinds\n"
    "  paceline list devices             all devices, one a line\n"
    "  paceline list devices h100-sxm    one device: every number and where it comes from\n"
    "  paceline list schedules zb-h1     one schedule: its order, a picture, its figures\n"
    "  paceline list clusters eos --dot | dot -Tsvg -o eos.svg    a picture of its network";

struct ListOptions {
  std::optional<std::string> kind, name;
  std::string json, svg;
  bool dot = false;
};

std::string columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string text;
  for (const auto& [name, summary] : rows) {
    text += name + std::string(width + 2 - name.size(), ' ') + summary + "\n";
  }
  return text;
}

void list_kinds(const ListOptions& options) {
  std::vector<std::pair<std::string, std::string>> rows;
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-list-1").key("kinds").begin_array();
  for (const Kind& kind : kinds()) {
    const std::size_t count = kind.names().size();
    rows.emplace_back(kind.name, std::to_string(count) + "  " + std::string(kind.summary));
    json.begin_object().field("name", kind.name).field("summary", kind.summary);
    json.field("count", static_cast<std::int64_t>(count)).end_object();
  }
  json.end_array().end_object();
  answer(columns(rows), json.finish(), options.json);
}

void list_entries(const Kind& kind, const ListOptions& options) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::string explained;
  base::JsonWriter json;
  json.begin_object()
      .field("schema", "paceline-list-1")
      .field("kind", kind.name)
      .key("entries")
      .begin_array();
  for (const std::string& name : kind.names()) {
    Entry entry = kind.entry(name);
    if (kind.more_facts != nullptr) {
      for (models::Fact& fact : kind.more_facts(name)) entry.facts.push_back(std::move(fact));
    }
    rows.emplace_back(entry.name, entry.summary);
    explained += (explained.empty() ? "" : "\n") + entry.text;
    json.begin_object().field("name", entry.name).field("summary", entry.summary).end_object();
  }
  json.end_array().end_object();
  answer(kind.explains ? explained : columns(rows), json.finish(), options.json);
}

/// Whether standard output understands colours, and nobody asked for none (no-color.org).
bool on_terminal() {
  const char* none = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0');
}

void list_entry(const Kind& kind, const std::string& name, const ListOptions& options) {
  const std::vector<std::string> names = kind.names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw base::Error("unknown " + std::string(kind.singular) + " " + base::quote(name) + "; " +
                      base::suggest(name, names, "one of"));
  }
  if (options.dot) {
    if (kind.dot == nullptr)
      throw base::Error("--dot draws clusters, not " + std::string(kind.name));
    return print(kind.dot(name));
  }
  if (!options.svg.empty()) {
    if (kind.svg == nullptr)
      throw base::Error("--svg draws schedules, not " + std::string(kind.name));
    return base::write_file(options.svg, kind.svg(name));
  }
  Entry entry = kind.entry(name);
  if (kind.more_facts != nullptr) {
    for (models::Fact& fact : kind.more_facts(name)) entry.facts.push_back(std::move(fact));
  }
  const std::string more = kind.more == nullptr ? "" : kind.more(name, false);
  base::JsonWriter json;
  json.begin_object()
      .field("schema", "paceline-list-1")
      .field("kind", kind.name)
      .field("name", entry.name);
  json.field("summary", entry.summary).field("text", entry.text + more).key("facts").begin_array();
  for (const models::Fact& fact : entry.facts) {
    json.begin_object().field("key", fact.key).field("value", fact.value);
    json.field("source", fact.source).end_object();
  }
  json.end_array().end_object();
  const bool colour = kind.more != nullptr && on_terminal();
  answer(entry.text + (colour ? kind.more(name, true) : more), json.finish(), options.json);
}

const Kind& find_kind(const std::string& word) {
  for (const Kind& kind : kinds()) {
    if (kind.singular == word) return kind;
  }
  return base::find(kinds(), word, "", "kind");
}

void run_list(const ListOptions& options) {
  if (options.dot && !options.name)
    throw base::Error("--dot needs the name of a cluster: paceline list clusters NAME --dot");
  if (options.dot && !options.json.empty())
    throw base::Error("--dot stands beside --json; ask for one of them");
  if (!options.svg.empty() && (!options.name || !options.json.empty()))
    throw base::Error(
        "--svg needs the name of a schedule and stands alone: "
        "paceline list schedules NAME --svg FILE");
  if (!options.kind) return list_kinds(options);
  const Kind& kind = find_kind(*options.kind);
  if (!options.name) return list_entries(kind, options);
  list_entry(kind, *options.name, options);
}

}  // namespace

void add_list(CLI::App& program, int& exit_code) {
  CLI::App& list =
      add_command(program, "list", "names that scenarios may use, and what they mean", kHelp);
  auto options = std::make_shared<ListOptions>();
  add_option(list, "KIND", options->kind, "devices, models, ...; without: the kinds there are");
  add_option(list, "NAME", options->name, "one of them, with its numbers and their sources");
  add_flag(list, "--dot", options->dot, "the network of a cluster as Graphviz text");
  add_option(list, "--svg", options->svg, "write the picture of a schedule", {.value = "FILE"});
  add_json_option(list, options->json);
  on_call(list, [options, &exit_code] {
    run_list(*options);
    exit_code = kDone;
  });
}

}  // namespace paceline::cli
