// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "base/config.hpp"
#include "base/message.hpp"
#include "models/hardware/topology.hpp"

namespace paceline::models {
namespace {

constexpr std::size_t kMaxColumns = 512;

/// How near two parts are, from the legend of nvidia-smi; NVn tells nothing of PCI Express.
enum class Near { Self, Switch, Bridges, Host, Node, System, NvLink };

struct Word {
  std::string text;
  std::size_t column = 0;
};

struct Cell {
  Near near = Near::Self;
  int links = 0;
};

/// Words of a line without colours and other escape sequences.
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  bool open = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {  // ESC [ … letter
      while (i + 1 < line.size() && !(line[i] >= 'A' && line[i] != '[')) ++i;
      continue;
    }
    const bool blank = line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
    if (!blank && !open) words.push_back({"", i + 1});
    if (!blank) words.back().text += line[i];
    open = !blank;
  }
  return words;
}

bool numbered(const std::string& word, std::string_view stem) {
  return word.size() > stem.size() && word.size() < stem.size() + 5 && word.starts_with(stem) &&
         std::all_of(word.begin() + static_cast<std::ptrdiff_t>(stem.size()), word.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool is_device(const std::string& name) { return numbered(name, "GPU"); }

class Table {
 public:
  Table(std::string_view text, std::string file) : file_(std::move(file)) {
    std::size_t line = 0;
    while (!text.empty()) {
      const auto end = text.find('\n');
      ++line;
      take(words_of(text.substr(0, end)), line);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    check();
  }

  NodeTopology topology() const {
    NodeTopology node;
    const std::vector<std::size_t> switches = joined({Near::Switch, Near::Bridges}, false);
    const std::vector<std::size_t> sockets =
        joined({Near::Switch, Near::Bridges, Near::Host, Near::Node}, true);
    std::map<std::size_t, int> switch_index, socket_index;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto [socket, unused] =
          socket_index.emplace(sockets[i], static_cast<int>(socket_index.size()));
      const auto [at, added] =
          switch_index.emplace(switches[i], static_cast<int>(switch_index.size()));
      if (added) node.switch_socket.push_back(socket->second);
      (is_device(names_[i]) ? node.device_switch : node.port_switch).push_back(at->second);
    }
    node.devices = static_cast<int>(node.device_switch.size());
    node.ports = static_cast<int>(node.port_switch.size());
    count_nvlinks(node);
    return node;
  }

 private:
  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& problem,
                         const std::string& hint = "") const {
    throw base::Error(file_ + ":" + std::to_string(line) + ":" + std::to_string(column), problem,
                      hint);
  }

  void take(const std::vector<Word>& words, std::size_t line) {
    if (words.empty()) return;
    if (names_.empty()) {
      if (is_device(words[0].text)) take_header(words, line);
      return;  // prompts and warnings above the table
    }
    const auto at = std::find(names_.begin(), names_.end(), words[0].text);
    if (at == names_.end()) return;
    take_row(static_cast<std::size_t>(at - names_.begin()), words, line);
  }

  void take_header(const std::vector<Word>& words, std::size_t line) {
    header_ = line;
    for (const Word& word : words) {
      if (word.text == "CPU") break;
      if (std::find(names_.begin(), names_.end(), word.text) != names_.end())
        fail(line, word.column, base::quote(word.text) + " stands twice");
      names_.push_back(word.text);
      if (names_.size() > kMaxColumns) fail(line, word.column, "more than 512 columns");
    }
    cells_.resize(names_.size());
    numa_.assign(names_.size(), "");
  }

  void take_row(std::size_t row, const std::vector<Word>& words, std::size_t line) {
    if (!cells_[row].empty()) fail(line, 1, base::quote(names_[row]) + " has a second row");
    if (words.size() < names_.size() + 1)
      fail(line, words.back().column,
           "row of " + std::to_string(words.size() - 1) + " cells for " +
               std::to_string(names_.size()) + " columns");
    for (std::size_t c = 0; c < names_.size(); ++c) {
      const Word& word = words[c + 1];
      const Cell cell = cell_of(word, line);
      if ((cell.near == Near::Self) != (c == row))
        fail(line, word.column,
             base::quote(word.text) + " between " + base::quote(names_[row]) + " and " +
                 base::quote(names_[c]),
             "X stands where row and column meet");
      cells_[row].push_back(cell);
    }
    // CPU affinity, then NUMA affinity
    if (is_device(names_[row]) && words.size() > names_.size() + 2) {
      const std::string& numa = words[names_.size() + 2].text;
      if (numa != "N/A") numa_[row] = numa;
    }
    lines_.resize(names_.size());
    lines_[row] = line;
  }

  Cell cell_of(const Word& word, std::size_t line) const {
    static const std::map<std::string, Near> kWords{{"X", Near::Self},      {"PIX", Near::Switch},
                                                    {"PXB", Near::Bridges}, {"PHB", Near::Host},
                                                    {"NODE", Near::Node},   {"SYS", Near::System}};
    const auto known = kWords.find(word.text);
    if (known != kWords.end()) return {known->second, 0};
    if (numbered(word.text, "NV") && word.text.size() < 6)
      return {Near::NvLink, std::stoi(word.text.substr(2))};
    fail(line, word.column, "unknown connection " + base::quote(word.text),
         "one of X, PIX, PXB, PHB, NODE, SYS, NV1, NV2, ...");
  }

  void check() const {
    if (names_.empty())
      throw base::Error(file_, "no table of GPUs", "give the output of nvidia-smi topo -m");
    for (std::size_t r = 0; r < names_.size(); ++r)
      if (cells_[r].empty()) fail(header_, 1, base::quote(names_[r]) + " has a column and no row");
    for (std::size_t r = 0; r < names_.size(); ++r)
      for (std::size_t c = 0; c < r; ++c)
        if (cells_[r][c].near != cells_[c][r].near || cells_[r][c].links != cells_[c][r].links)
          fail(
              lines_[r], 1,
              base::quote(names_[r]) + " and " + base::quote(names_[c]) + " are joined in two ways",
              "the table must be symmetric");
  }

  /// Smallest member of everything joined, directly or not, by one of the relations.
  std::vector<std::size_t> joined(std::initializer_list<Near> relations, bool by_numa) const {
    std::vector<std::size_t> set(names_.size());
    std::iota(set.begin(), set.end(), 0u);
    for (std::size_t r = 0; r < names_.size(); ++r) {
      for (std::size_t c = 0; c < r; ++c) {
        const bool near =
            std::find(relations.begin(), relations.end(), cells_[r][c].near) != relations.end();
        const bool alike = by_numa && !numa_[r].empty() && numa_[r] == numa_[c];
        if ((!near && !alike) || set[r] == set[c]) continue;
        const std::size_t from = std::max(set[r], set[c]), to = std::min(set[r], set[c]);
        std::replace(set.begin(), set.end(), from, to);
      }
    }
    return set;
  }

  /// Through switches every pair shows all links of a device; without, each shows its own.
  void count_nvlinks(NodeTopology& node) const {
    constexpr int kMostLinks = 18;  // a Hopper or Blackwell GPU has 18
    for (std::size_t r = 0; r < names_.size(); ++r) {
      if (!is_device(names_[r])) continue;
      int sum = 0, most = 0;
      for (const Cell& cell : cells_[r]) {
        sum += cell.links;
        most = std::max(most, cell.links);
      }
      const int links = sum > kMostLinks ? most : sum;
      node.nvswitch = node.nvswitch || sum > kMostLinks;
      if (r > 0 && links != node.nvlinks)
        fail(lines_[r], 1,
             base::quote(names_[r]) + " has " + std::to_string(links) + " NVLinks, others have " +
                 std::to_string(node.nvlinks));
      node.nvlinks = links;
    }
  }

  std::string file_;
  std::vector<std::string> names_, numa_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<std::size_t> lines_;
  std::size_t header_ = 0;
};

}  // namespace

NodeTopology parse_topology_table(std::string_view text, const std::string& file) {
  return Table(text, file).topology();
}

NodeTopology parse_topology(std::string_view text, const std::string& file) {
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool xml = first != std::string_view::npos && text[first] == '<';
  return xml ? parse_nccl_topology(text, file) : parse_topology_table(text, file);
}

NodeTopology read_topology(const std::string& path) {
  return parse_topology(base::read_file(path, 1u << 20), path);
}

}  // namespace paceline::models
