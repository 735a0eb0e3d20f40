// SPDX-License-Identifier: Apache-2.0
#include "sim/program.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::sim {
namespace {

constexpr int kMaxStages = std::numeric_limits<std::int16_t>::max();
constexpr int kMaxSlices = std::numeric_limits<std::int16_t>::max();
constexpr int kMaxMicrobatches = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxPasses = 64;
constexpr std::size_t kMaxName = 16;

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view direction_name(Direction d) {
  switch (d) {
    case Direction::Down:
      return "down";
    case Direction::Up:
      return "up";
    case Direction::None:
      return "local";
  }
  return "local";
}

/// One line of the text, read from left to right.
struct Line {
  std::string_view text;
  const std::string* file;
  int number;
  std::size_t at = 0;

  [[noreturn]] void fail(std::size_t column, const std::string& problem,
                         const std::string& hint) const {
    throw base::Error(*file + ":" + std::to_string(number) + ":" + std::to_string(column + 1),
                      problem, hint);
  }
  bool done() {
    while (at < text.size() && is_blank(text[at])) ++at;
    return at == text.size();
  }
  bool take(char c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  /// The text up to the next blank, for messages and keywords.
  std::string_view word() {
    done();
    const std::size_t first = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    return text.substr(first, at - first);
  }
  std::string_view letters() {
    const std::size_t first = at;
    while (at < text.size() && is_letter(text[at])) ++at;
    return text.substr(first, at - first);
  }
  int number_in(int low, int high, const std::string& what) {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    const std::string_view digits = text.substr(first, at - first);
    if (digits.empty())
      fail(first, "expected a " + what + " number", "actions look like 2F0 or 2F0.3");
    int value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || value < low || value > high) {
      fail(first, what + " " + base::quote(digits) + " is out of range",
           "here it lies between " + std::to_string(low) + " and " + std::to_string(high));
    }
    return value;
  }
};

int named_number(Line& line, std::string_view name, int low, int high) {
  line.done();
  const std::size_t column = line.at;
  if (line.letters() != name || !line.take('=')) {
    line.fail(column, "expected " + std::string(name) + "=NUMBER",
              "the first line reads: program stages=2 microbatches=1 slices=1");
  }
  return line.number_in(low, high, std::string(name));
}

void end_of_line(Line& line) {
  if (!line.done()) {
    const std::size_t column = line.at;
    line.fail(column, "unexpected " + base::quote(line.word()), "the line ends before it");
  }
}

void read_sizes(Line& line, Program& program) {
  const std::size_t column = line.at;
  if (line.word() != "program") {
    line.fail(column, "the text does not begin with its sizes",
              "the first line reads: program stages=2 microbatches=1 slices=1");
  }
  program.stages = named_number(line, "stages", 1, kMaxStages);
  program.microbatches = named_number(line, "microbatches", 1, kMaxMicrobatches);
  program.slices = named_number(line, "slices", 1, kMaxSlices);
  end_of_line(line);
}

/// Names of other passes, resolved once all are known: a pass may read a later one.
struct PassNames {
  struct Name {
    std::string_view text;
    Line line;
    std::size_t column;
  };
  std::vector<Name> reads, frees;
};

void read_name_list(Line& line, std::vector<PassNames::Name>& names) {
  line.done();
  do {
    const std::size_t column = line.at;
    const std::string_view name = line.letters();
    if (name.empty()) line.fail(column, "expected the name of a pass", "for example: reads F,B");
    names.push_back({name, line, column});
  } while (line.take(','));
}

PassNames read_pass(Line& line, Program& program) {
  line.done();
  const std::size_t column = line.at;
  const std::string_view name = line.letters();
  if (name.empty() || !(line.at == line.text.size() || is_blank(line.text[line.at]))) {
    line.fail(column, "the name of a pass is made of letters", "for example: pass F down");
  }
  if (name.size() > kMaxName) {
    line.fail(column, "the name " + base::quote(name) + " is too long", "16 letters at most");
  }
  for (const Pass& known : program.passes) {
    if (known.name == name)
      line.fail(column, "pass " + known.name + " is listed twice", "drop one");
  }
  if (program.passes.size() == kMaxPasses) line.fail(column, "too many passes", "64 at most");
  Pass pass{std::string(name), Direction::None, {}, {}};
  line.done();
  const std::size_t direction_column = line.at;
  const std::string_view direction = line.word();
  if (direction == direction_name(Direction::Down)) {
    pass.direction = Direction::Down;
  } else if (direction == direction_name(Direction::Up)) {
    pass.direction = Direction::Up;
  } else if (direction != direction_name(Direction::None)) {
    line.fail(direction_column, "unknown direction " + base::quote(direction),
              "valid: down, up, local");
  }
  PassNames names;
  while (!line.done()) {
    const std::size_t key_column = line.at;
    const std::string_view key = line.word();
    if (key == "reads" && names.reads.empty()) {
      read_name_list(line, names.reads);
    } else if (key == "frees" && names.frees.empty()) {
      read_name_list(line, names.frees);
    } else {
      line.fail(key_column, "unexpected " + base::quote(key),
                "a pass reads: pass NAME down|up|local [reads A,B] [frees A,B]");
    }
  }
  program.passes.push_back(std::move(pass));
  return names;
}

int find_pass(const Program& program, std::string_view name) {
  for (std::size_t i = 0; i < program.passes.size(); ++i) {
    if (program.passes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string pass_list(const Program& program) {
  std::string text;
  for (const Pass& pass : program.passes) text += (text.empty() ? "" : ", ") + pass.name;
  return text.empty() ? "no pass is declared" : "valid: " + text;
}

std::vector<std::uint8_t> resolve(const Program& program,
                                  const std::vector<PassNames::Name>& names) {
  std::vector<std::uint8_t> ids;
  for (const PassNames::Name& name : names) {
    const int id = find_pass(program, name.text);
    if (id < 0) {
      name.line.fail(name.column, "unknown pass " + base::quote(name.text), pass_list(program));
    }
    ids.push_back(static_cast<std::uint8_t>(id));
  }
  return ids;
}

Action read_action(Line& line, const Program& program) {
  Action action;
  action.stage = static_cast<std::int16_t>(line.number_in(0, program.stages - 1, "stage"));
  const std::size_t column = line.at;
  const std::string_view name = line.letters();
  const int pass = find_pass(program, name);
  if (pass < 0) {
    line.fail(column,
              name.empty() ? "expected the name of a pass" : "unknown pass " + base::quote(name),
              pass_list(program));
  }
  action.pass = static_cast<std::uint8_t>(pass);
  action.microbatch = line.number_in(0, program.microbatches - 1, "microbatch");
  if (line.take('.')) {
    action.slice = static_cast<std::int16_t>(line.number_in(0, program.slices - 1, "slice"));
  }
  return action;
}

void read_rank(Line& line, Program& program) {
  line.done();
  const std::size_t column = line.at;
  const int rank = line.number_in(0, std::numeric_limits<int>::max(), "rank");
  if (static_cast<std::size_t>(rank) != program.order.size()) {
    line.fail(column, "rank " + std::to_string(rank) + " is out of order",
              "expected rank " + std::to_string(program.order.size()));
  }
  if (!line.take(':')) line.fail(line.at, "expected ':'", "for example: rank 0: 0F0 0BW0");
  std::vector<Action>& order = program.order.emplace_back();
  while (!line.done()) {
    if (line.take('(')) {
      const std::size_t first = order.size();
      do {
        order.push_back(read_action(line, program));
        order.back().fused = true;
      } while (line.take('&'));
      order.back().fused = false;
      if (!line.take(')')) line.fail(line.at, "expected '&' or ')'", "for example: (2F0&5B1)");
      if (order.size() - first < 2) {
        line.fail(line.at - 1, "a fused group of one action", "write it without brackets");
      }
    } else {
      order.push_back(read_action(line, program));
    }
    if (line.at < line.text.size() && !is_blank(line.text[line.at])) {
      line.fail(line.at, "expected a blank between actions", "actions look like 2F0 or 2F0.3");
    }
  }
}

void append_names(std::string& text, const char* key, const std::vector<std::uint8_t>& ids,
                  const Program& program) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    text += (i == 0 ? key : ",") + program.passes.at(ids[i]).name;
  }
}

}  // namespace

std::string to_text(const Action& action, const Program& program) {
  std::string text = std::to_string(action.stage) + program.passes.at(action.pass).name +
                     std::to_string(action.microbatch);
  if (action.slice != 0) text.append(".").append(std::to_string(action.slice));
  return text;
}

std::string to_text(const Program& program) {
  std::string text = "program stages=" + std::to_string(program.stages) +
                     " microbatches=" + std::to_string(program.microbatches) +
                     " slices=" + std::to_string(program.slices) + "\n";
  for (const Pass& pass : program.passes) {
    text += "pass " + pass.name + " " + std::string(direction_name(pass.direction));
    append_names(text, " reads ", pass.reads, program);
    append_names(text, " frees ", pass.frees, program);
    text += "\n";
  }
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    text += "rank " + std::to_string(rank) + ":";
    bool inside = false;
    for (const Action& action : program.order[rank]) {
      text += inside ? "&" : action.fused ? " (" : " ";
      text += to_text(action, program);
      if (inside && !action.fused) text += ")";
      inside = action.fused;
    }
    text += "\n";
  }
  return text;
}

Program parse_program(std::string_view text, const std::string& file) {
  Program program;
  std::vector<PassNames> names;
  bool resolved = false;
  const auto resolve_all = [&] {
    for (std::size_t i = 0; i < names.size() && !resolved; ++i) {
      program.passes[i].reads = resolve(program, names[i].reads);
      program.passes[i].frees = resolve(program, names[i].frees);
    }
    resolved = true;
  };
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    Line line{whole.substr(0, std::min(whole.find('#'), whole.size())), &file, ++number};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.done()) continue;
    const std::size_t column = line.at;
    if (program.stages == 0) {
      read_sizes(line, program);
      continue;
    }
    const std::string_view key = line.word();
    if (key == "pass" && !resolved) {
      names.push_back(read_pass(line, program));
    } else if (key == "rank") {
      resolve_all();
      read_rank(line, program);
    } else {
      line.fail(column, "unexpected " + base::quote(key),
                "after the sizes come the lines 'pass NAME ...', then 'rank N: ...'");
    }
  }
  if (program.stages == 0) {
    throw base::Error(file + ":1:1", "the text is empty",
                      "the first line reads: program stages=2 microbatches=1 slices=1");
  }
  resolve_all();
  return program;
}

}  // namespace paceline::sim
