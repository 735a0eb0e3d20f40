// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_log_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/message.hpp"
#include "base/text.hpp"

namespace paceline::models::detail {
namespace {

constexpr double kMaxSize = 1e15;      // bytes; the largest public log ends at 16 GiB
constexpr double kMaxTime = 1e10;      // us: nearly three hours for one collective
constexpr double kMaxDeviation = 0.1;  // of the "error" column, far above any rounding
constexpr std::size_t kMaxTags = 4;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

/// Length of one tag at the start, 0 when there is none: "[1,0]<stdout>:", "3: ", "[default0]:",
/// "worker-0: ", "2024-05-01T10:00:00.1Z ".
std::size_t tag_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '[') {
    std::size_t end = text.find(']');
    if (end == std::string_view::npos) return 0;
    ++end;
    for (const std::string_view more : {"<stdout>", "<stderr>", ":"})
      if (starts(text.substr(end), more)) end += more.size();
    return end;
  }
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  const bool stamp = word.size() > 10 && digit(word[0]) && word[4] == '-' &&
                     word.find('T') != std::string_view::npos && word.back() == 'Z';
  return word.back() == ':' || stamp ? end : 0;
}

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && blank(line[at])) ++at;
  return at;
}

std::string at(const std::string& where, const Token& token) {
  return where + ":" + std::to_string(token.column);
}

double number(const Token& token, const std::string& where, std::string_view column, double low,
              double high) {
  return base::parse_number(token.text, at(where, token) + ": " + std::string(column), low, high);
}

/// A number, nan and inf included; a row that other output runs into has something else here.
bool numeric(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text == "nan" || text == "inf") return true;
  return !text.empty() && digit(text[0]) &&
         text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

/// Whether the four columns from `first` on are complete.
bool complete(const std::vector<Token>& tokens, std::size_t first) {
  if (tokens.size() < first + 4) return false;
  for (std::size_t i = first; i < first + 3; ++i)
    if (!numeric(tokens[i].text)) return false;
  return numeric(tokens[first + 3].text) || tokens[first + 3].text == "N/A";
}

/// Time, bandwidths and the check of one placement.
struct LineTiming {
  double us = 0, algbw = 0, busbw = 0;
  std::int64_t wrong = -1;
};

std::int64_t read_wrong(const Token& token, bool counts, const std::string& where, double size) {
  if (token.text == "N/A") return -1;
  const double value = number(token, where, counts ? "#wrong" : "error", 0, 1e18);
  if (value > (counts ? 0 : kMaxDeviation))
    throw base::Error(at(where, token) + ": " + (counts ? "#wrong" : "error"),
                      "the row of " + std::to_string(static_cast<std::int64_t>(size)) +
                          " bytes has wrong results (" + base::one_line(token.text, 40) + ")",
                      "a log of a broken run says nothing about its links");
  return 0;
}

/// The four columns from `first` on. The rate must be what size and time give: a digit lost on the
/// way would pass unseen.
LineTiming read_timing(const std::vector<Token>& tokens, std::size_t first, double size,
                       bool counts, const std::string& where) {
  LineTiming t;
  t.us = number(tokens[first], where, "time", 0, kMaxTime);
  if (!(t.us > 0)) throw base::Error(at(where, tokens[first]) + ": time", "must be above 0");
  t.algbw = number(tokens[first + 1], where, "algbw", 0, 1e9);
  t.busbw = number(tokens[first + 2], where, "busbw", 0, 1e9);
  t.wrong = read_wrong(tokens[first + 3], counts, where, size);
  const double rate = size / t.us * 1e-3;
  const double rounding = 0.01 + rate * (0.01 + 0.005 / t.us);
  if (std::fabs(rate - t.algbw) > rounding)
    throw base::Error(at(where, tokens[first + 1]) + ": algbw",
                      base::one_line(tokens[first + 1].text, 40) +
                          " GB/s is not size over time, which is " + base::format_fixed(rate, 2),
                      "a digit of the row is missing, or its columns are not those of nccl-tests");
  return t;
}

constexpr std::array<base::Named<CollectiveOp>, 8> kPrograms{
    {{"all_reduce", CollectiveOp::AllReduce},
     {"all_gather", CollectiveOp::AllGather},
     {"reduce_scatter", CollectiveOp::ReduceScatter},
     {"alltoall", CollectiveOp::AllToAll},
     {"all_to_all", CollectiveOp::AllToAll},
     {"broadcast", CollectiveOp::Broadcast},
     {"reduce", CollectiveOp::Reduce},
     {"sendrecv", CollectiveOp::SendRecv}}};
constexpr std::array<std::string_view, 3> kOthers{"gather", "scatter", "hypercube"};

/// Whether `name` stands in the text on its own, followed by "_perf" where `program`.
bool holds(std::string_view text, std::string_view name, bool program) {
  const auto part = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::string_view rest = text.substr(at + name.size());
    const bool alone = at == 0 || !part(text[at - 1]);
    if (alone &&
        (program ? starts(rest, "_perf") : rest.empty() || !part(rest[0]) || starts(rest, "_perf")))
      return true;
  }
  return false;
}

/// The integer after a word such as "nranks"; 0: none.
int after(const std::vector<Token>& tokens, std::string_view word) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].text != word) continue;
    int value = 0;
    const std::string_view text = tokens[i + 1].text;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value > 0 && value <= kMaxLogRanks) return value;
  }
  return 0;
}

/// "NCCL version 2.21.5+cuda12.4", or "nccl-library=22807" of newer headers.
void read_version(std::string_view line, LogFacts& facts) {
  constexpr std::string_view kText = "NCCL version ", kCode = "nccl-library=";
  if (const std::size_t at = line.find(kText); at != std::string_view::npos) {
    const std::string_view rest = line.substr(at + kText.size());
    const std::size_t end = std::min(rest.find_first_not_of("0123456789."), rest.size());
    if (end > 2 && end < 12) facts.nccl = std::string(rest.substr(0, end));
  }
  if (const std::size_t at = line.find(kCode); at != std::string_view::npos) {
    int code = 0;
    const char* first = line.data() + at + kCode.size();
    std::from_chars(first, line.data() + line.size(), code);
    if (code >= 20000 && code < 100000)
      facts.nccl = std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
                   std::to_string(code % 100);
  }
}

/// "#  Rank  0 Group  0 Pid 1942267 on node-14 device  0 [0x0f] NVIDIA H100 80GB HBM3"; groups
/// other than the first run the same beside it.
void read_device_line(std::string_view line, const std::vector<Token>& tokens, LogFacts& facts) {
  if (tokens.size() < 7 || tokens[0].text != "#" || tokens[1].text != "Rank") return;
  int rank = -1, group = 0;
  std::size_t host = 0;
  std::from_chars(tokens[2].text.data(), tokens[2].text.data() + tokens[2].text.size(), rank);
  for (std::size_t i = 3; i + 1 < tokens.size(); ++i) {
    const Token& next = tokens[i + 1];
    if (tokens[i].text == "Group")
      std::from_chars(next.text.data(), next.text.data() + next.text.size(), group);
    if (tokens[i].text == "on" && host == 0) host = i + 1;
  }
  if (rank < 0 || rank >= kMaxLogRanks || group != 0 || host == 0) return;
  facts.ranks.insert(rank);
  facts.hosts.emplace(tokens[host].text);
  const std::size_t name = line.find("] ");
  if (facts.device.empty() && name != std::string_view::npos) {
    std::string_view rest = line.substr(name + 2);
    while (!rest.empty() && blank(rest.back())) rest.remove_suffix(1);
    facts.device = base::one_line(rest, 60);
  }
}

}  // namespace

std::vector<Token> log_tokens(std::string_view line) {
  std::size_t begin = skip_blanks(line, 0);
  for (std::size_t i = 0; i < kMaxTags; ++i) {
    const std::size_t tag = tag_length(line.substr(begin));
    if (tag == 0) break;
    begin = skip_blanks(line, begin + tag);
  }
  std::vector<Token> tokens;
  while (begin < line.size()) {
    std::size_t end = begin;
    while (end < line.size() && !blank(line[end])) ++end;
    tokens.push_back({line.substr(begin, end - begin), static_cast<int>(begin) + 1});
    begin = skip_blanks(line, end);
  }
  return tokens;
}

int log_type_bytes(std::string_view type) {
  constexpr std::array<base::Named<int>, 17> kTypes{{{"int8", 1},
                                                     {"char", 1},
                                                     {"uint8", 1},
                                                     {"fp8_e4m3", 1},
                                                     {"fp8_e5m2", 1},
                                                     {"f8e4m3", 1},
                                                     {"f8e5m2", 1},
                                                     {"half", 2},
                                                     {"bfloat16", 2},
                                                     {"float", 4},
                                                     {"int32", 4},
                                                     {"int", 4},
                                                     {"uint32", 4},
                                                     {"double", 8},
                                                     {"int64", 8},
                                                     {"uint64", 8},
                                                     {"float16", 2}}};
  for (const auto& [name, bytes] : kTypes)
    if (name == type) return bytes;
  return 0;
}

bool read_header(const std::vector<Token>& tokens, LogLayout& layout) {
  const std::size_t first = !tokens.empty() && tokens[0].text == "#" ? 1 : 0;
  constexpr std::array<std::string_view, 3> kNames{"size", "count", "type"};
  if (tokens.size() < first + 7) return false;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (tokens[first + i].text != kNames[i]) return false;
  LogLayout found;
  found.counts_wrong = false;
  for (const Token& t : tokens) {
    found.redop = found.redop || t.text == "redop";
    found.root = found.root || t.text == "root";
    found.counts_wrong = found.counts_wrong || t.text == "#wrong";
    if (t.text == "time") ++found.groups;
  }
  if (found.groups == 0) return false;
  layout = found;
  return true;
}

bool is_row(const std::vector<Token>& tokens) {
  return tokens.size() >= 3 && numeric(tokens[0].text) && numeric(tokens[1].text) &&
         log_type_bytes(tokens[2].text) > 0;
}

LogRow read_row(const std::vector<Token>& tokens, const LogLayout& layout,
                const std::string& where) {
  LogRow r;
  const double size = number(tokens[0], where, "size", 0, kMaxSize);
  const double count = number(tokens[1], where, "count", 0, kMaxSize);
  r.row.size = base::Bytes(size);
  std::size_t next = 3;
  if (layout.redop && next < tokens.size() && !numeric(tokens[next].text))
    r.reduces = tokens[next++].text != "none";
  if (layout.root && next < tokens.size()) {
    r.rooted = number(tokens[next], where, "root", -1, kMaxLogRanks) >= 0;
    ++next;
  }
  r.cut = !complete(tokens, next);
  if (r.cut) return r;
  if (size <= 0 || count <= 0) return r;
  r.per_count = size / (count * log_type_bytes(tokens[2].text));
  const LineTiming t = read_timing(tokens, next, size, layout.counts_wrong, where);
  r.row.out_of_place = base::Seconds(t.us * 1e-6);
  r.row.wrong = t.wrong;
  r.algbw = t.algbw;
  r.busbw = t.busbw;
  next += 4;
  if (layout.groups > 1 && complete(tokens, next)) {
    const LineTiming in = read_timing(tokens, next, size, layout.counts_wrong, where);
    r.row.in_place = base::Seconds(in.us * 1e-6);
  }
  return r;
}

std::optional<CollectiveOp> named_operation(std::string_view text, bool program) {
  for (const auto& [name, op] : kPrograms)
    if (holds(text, name, program)) return op;
  return std::nullopt;
}

void read_fact(std::string_view line, const std::vector<Token>& tokens, const std::string& where,
               LogFacts& facts) {
  if (line.find("_perf") != std::string_view::npos) {
    for (const std::string_view other : kOthers)
      if (holds(line, other, true))
        throw base::Error(where, "a log of " + std::string(other) + "_perf",
                          "only all_reduce, all_gather, reduce_scatter, alltoall, broadcast, "
                          "reduce and sendrecv can be used");
    if (const auto op = named_operation(line, true)) facts.op = op;
  }
  read_version(line, facts);
  read_device_line(line, tokens, facts);
  if (const int ranks = std::max(after(tokens, "nranks"), after(tokens, "nRanks")); ranks > 0)
    facts.stated_ranks = ranks;
  if (const int nodes = after(tokens, "nNodes"); nodes > 0) facts.stated_nodes = nodes;
}

}  // namespace paceline::models::detail
