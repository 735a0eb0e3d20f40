// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/error.hpp"
#include "base/message.hpp"
#include "sim/program.hpp"
#include "sim/program_places.hpp"
#include "sim/program_text.hpp"

namespace paceline::sim {
namespace {

constexpr int kMaxStages = std::numeric_limits<std::int16_t>::max();
constexpr int kMaxSlices = std::numeric_limits<std::int16_t>::max();
constexpr int kMaxMicrobatches = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxPasses = 64;
constexpr std::size_t kMaxName = 16;

constexpr const char* kSizes = "the first line reads: program stages=2 microbatches=1 slices=1";

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

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
  int number_in(int low, int high, const std::string& what,
                const char* hint = "actions look like 2F0 or 2F0.3") {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    const std::string_view digits = text.substr(first, at - first);
    if (digits.empty()) fail(first, "expected a " + what + " number", hint);
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
    line.fail(column, "expected " + std::string(name) + "=NUMBER", kSizes);
  }
  return line.number_in(low, high, std::string(name), kSizes);
}

/// What may follow the sizes.
void read_property(Line& line, Program& program) {
  const std::size_t column = line.at;
  const std::string_view word = line.word();
  if (word == "skips=1" || word == "pooled=1") {
    (word == "skips=1" ? program.skips : program.pooled) = true;
    return;
  }
  constexpr std::string_view kUnit = "gather_unit=";
  if (word.substr(0, kUnit.size()) == kUnit) {
    line.at = column + kUnit.size();
    program.gather_unit = line.number_in(1, kMaxMicrobatches, "gather_unit",
                                         "microbatches that share a gathering, from 1 on");
    return;
  }
  for (const Weights weights : {Weights::Latest, Weights::Stash, Weights::Delayed}) {
    if (word != "weights=" + std::string(to_text(weights))) continue;
    program.weights = weights;
    return;
  }
  line.fail(column, "unexpected " + base::quote(word),
            "after the sizes: weights=latest|stash|delayed, pooled=1, skips=1, gather_unit=NUMBER");
}

void read_sizes(Line& line, Program& program) {
  const std::size_t column = line.at;
  if (line.word() != "program") {
    line.fail(column, "the text does not begin with its sizes", kSizes);
  }
  program.stages = named_number(line, "stages", 1, kMaxStages);
  program.microbatches = named_number(line, "microbatches", 1, kMaxMicrobatches);
  program.slices = named_number(line, "slices", 1, kMaxSlices);
  while (!line.done()) read_property(line, program);
}

/// Names of other passes, resolved once all are known: a pass may read a later one.
struct PassNames {
  struct Name {
    std::string_view text;
    Line line;
    std::size_t column;
    Reach reach = Reach::Same;
    bool where_present = false;
  };
  std::vector<Name> reads, frees;
};

Reach read_reach(Line& line) {
  if (!line.take('@')) return Reach::Same;
  const std::size_t column = line.at;
  const std::string_view word = line.letters();
  if (word == "first") return Reach::First;
  if (word == "last") return Reach::Last;
  if (word == "all") return Reach::All;
  line.fail(column, "unknown stages " + base::quote(word), "valid: @first, @last, @all");
}

/// Names with commas between; of reads also of which stages.
void read_name_list(Line& line, std::vector<PassNames::Name>& names, bool reads) {
  line.done();
  do {
    const std::size_t column = line.at;
    const std::string_view name = line.letters();
    if (name.empty()) line.fail(column, "expected the name of a pass", "for example: reads F,B");
    PassNames::Name entry{name, line, column};
    if (reads) {
      entry.reach = read_reach(line);
      entry.where_present = line.take('?');
    }
    names.push_back(entry);
  } while (line.take(','));
}

Direction read_direction(Line& line) {
  line.done();
  const std::size_t column = line.at;
  const std::string_view word = line.word();
  for (const Direction d : {Direction::Down, Direction::Up, Direction::None}) {
    if (word == to_text(d)) return d;
  }
  line.fail(column, "unknown direction " + base::quote(word), "valid: down, up, local");
}

/// "0-3".
void read_stage_range(Line& line, const Program& program, Pass& pass) {
  line.done();
  const std::size_t column = line.at;
  const int first = line.number_in(0, program.stages - 1, "stage");
  if (!line.take('-')) line.fail(line.at, "expected '-'", "for example: stages 0-3");
  const int last = line.number_in(0, program.stages - 1, "stage");
  if (last < first) line.fail(column, "the range of stages is empty", "for example: stages 0-3");
  pass.first_stage = static_cast<std::int16_t>(first);
  pass.last_stage = static_cast<std::int16_t>(last);
}

void read_pass_key(Line& line, const Program& program, Pass& pass, PassNames& names) {
  const std::size_t column = line.at;
  const std::string_view key = line.word();
  if (key == "reads" && names.reads.empty()) {
    read_name_list(line, names.reads, true);
  } else if (key == "frees" && names.frees.empty()) {
    read_name_list(line, names.frees, false);
  } else if (key == "slices" && pass.slices == Direction::None) {
    pass.slices = read_direction(line);
  } else if (key == "stages" && pass.last_stage < 0) {
    read_stage_range(line, program, pass);
  } else if (key == "sparse" && !pass.sparse) {
    pass.sparse = true;
  } else {
    line.fail(column, "unexpected " + base::quote(key),
              "a pass reads: pass NAME down|up|local [reads A,B] [frees A,B] [slices down|up] "
              "[stages 0-3] [sparse]");
  }
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
  Pass pass;
  pass.name = name;
  pass.direction = read_direction(line);
  PassNames names;
  while (!line.done()) read_pass_key(line, program, pass, names);
  program.passes.push_back(std::move(pass));
  return names;
}

/// "stage 2 from 0,1 span 4 ahead 2 forward-only": stages come in order, inputs before them.
void read_node(Line& line, Program& program) {
  constexpr const char* kForm =
      "a stage reads: stage N [from A,B] [span N] [ahead N] [forward-only]";
  constexpr int kMost = 1'000'000;
  line.done();
  const std::size_t column = line.at;
  const int stage = line.number_in(0, program.stages - 1, "stage");
  if (static_cast<std::size_t>(stage) != program.nodes.size())
    line.fail(column, "stage " + std::to_string(stage) + " is out of order",
              "expected stage " + std::to_string(program.nodes.size()));
  StageNode node;
  while (!line.done()) {
    const std::size_t at = line.at;
    const std::string_view key = line.word();
    line.done();
    if (key == "from" && node.inputs.empty()) {
      do {
        if (stage == 0) line.fail(at, "stage 0 has no stage before it", kForm);
        node.inputs.push_back(
            static_cast<std::int16_t>(line.number_in(0, stage - 1, "stage before it")));
      } while (line.take(','));
    } else if (key == "span") {
      node.span = line.number_in(1, program.microbatches, "span");
      if (program.microbatches % node.span != 0)
        line.fail(at, "the span does not divide the microbatches", kForm);
    } else if (key == "ahead") {
      node.ahead = line.number_in(0, kMost, "microbatches ahead");
    } else if (key == "forward-only") {
      node.backward = false;
    } else {
      line.fail(at, "unexpected " + base::quote(key), kForm);
    }
  }
  program.nodes.push_back(std::move(node));
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

std::uint8_t resolve(const Program& program, const PassNames::Name& name) {
  const int id = find_pass(program, name.text);
  if (id < 0) {
    name.line.fail(name.column, "unknown pass " + base::quote(name.text), pass_list(program));
  }
  return static_cast<std::uint8_t>(id);
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

void read_rank(Line& line, Program& program, ProgramPlaces& places) {
  line.done();
  const std::size_t column = line.at;
  const int rank = line.number_in(0, std::numeric_limits<int>::max(), "rank");
  if (static_cast<std::size_t>(rank) != program.order.size()) {
    line.fail(column, "rank " + std::to_string(rank) + " is out of order",
              "expected rank " + std::to_string(program.order.size()));
  }
  if (!line.take(':')) line.fail(line.at, "expected ':'", "for example: rank 0: 0F0 0BW0");
  std::vector<Action>& order = program.order.emplace_back();
  std::vector<ProgramPlaces::Place>& where = places.order.emplace_back();
  const auto read_next = [&] {
    where.push_back({line.number, static_cast<std::int32_t>(line.at + 1)});
    order.push_back(read_action(line, program));
  };
  while (!line.done()) {
    if (line.take('(')) {
      const std::size_t first = order.size();
      do {
        read_next();
        order.back().fused = true;
      } while (line.take('&'));
      order.back().fused = false;
      if (!line.take(')')) line.fail(line.at, "expected '&' or ')'", "for example: (2F0&5B1)");
      if (order.size() - first < 2) {
        line.fail(line.at - 1, "a fused group of one action", "write it without brackets");
      }
    } else {
      read_next();
    }
    if (line.at < line.text.size() && !is_blank(line.text[line.at])) {
      line.fail(line.at, "expected a blank between actions", "actions look like 2F0 or 2F0.3");
    }
  }
}

}  // namespace

Program parse_program(std::string_view text, const std::string& file, ProgramPlaces* places) {
  Program program;
  ProgramPlaces unwanted;
  if (places == nullptr) places = &unwanted;
  *places = {file, {}};
  std::vector<PassNames> names;
  bool resolved = false;
  const auto resolve_all = [&] {
    for (std::size_t i = 0; i < names.size() && !resolved; ++i) {
      for (const PassNames::Name& n : names[i].reads)
        program.passes[i].reads.emplace_back(resolve(program, n), n.reach, n.where_present);
      for (const PassNames::Name& n : names[i].frees)
        program.passes[i].frees.push_back(resolve(program, n));
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
    } else if (key == "stage" && program.order.empty()) {
      read_node(line, program);
    } else if (key == "rank") {
      resolve_all();
      read_rank(line, program, *places);
    } else {
      line.fail(column, "unexpected " + base::quote(key),
                "after the sizes come the lines 'pass NAME ...', then 'rank N: ...'");
    }
  }
  if (program.stages == 0) {
    throw base::Error(file + ":1:1", "the text is empty", kSizes);
  }
  resolve_all();
  if (!program.nodes.empty() && program.nodes.size() != static_cast<std::size_t>(program.stages))
    throw base::Error(file + ":1:1",
                      std::to_string(program.nodes.size()) + " lines of stages for " +
                          std::to_string(program.stages) + " stages",
                      "one line a stage, or none where they are a chain");
  return program;
}

}  // namespace paceline::sim
