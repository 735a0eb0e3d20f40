// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/device.hpp"

namespace paceline::cli {

/// One thing that has a name: a device, a schedule, a model.
struct Entry {
  std::string name;
  std::string summary;              ///< one line
  std::string text;                 ///< everything worth knowing, in lines
  std::vector<models::Fact> facts;  ///< its numbers with their sources, where it has them
};

/// What `paceline list` lists. Specs are read when asked for: one that is wrong is a base::Error.
struct Kind {
  std::string_view name;      ///< plural: devices
  std::string_view singular;  ///< in messages: device
  std::string_view summary;
  std::vector<std::string> (*names)();
  Entry (*entry)(const std::string& name);  ///< name is one of names()
  /// Lines that take longer to work out, for a single entry, coloured for a terminal or not; null:
  /// none.
  std::string (*more)(const std::string& name, bool colour) = nullptr;
  /// Numbers that take longer to work out; null: none.
  std::vector<models::Fact> (*more_facts)(const std::string& name) = nullptr;
  std::string (*dot)(const std::string& name) = nullptr;  ///< its network; null: none
  std::string (*svg)(const std::string& name) = nullptr;  ///< its picture; null: none
  bool explains = false;  ///< the list shows the text of every entry, not only its summary
};

/// All kinds, in the order they are shown.
std::span<const Kind> kinds();

}  // namespace paceline::cli
