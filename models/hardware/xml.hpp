// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::models {

/// An element of a document without text: NCCL's topology files have attributes only.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  int parent = -1;    ///< index of the element it stands in; -1: the root
  std::string where;  ///< "file:line:column"

  const std::string* find(std::string_view attribute) const;  ///< null when absent
};

/// Elements in document order, one root. Declarations and comments are skipped; text, entities,
/// document types, elements left open and more than 64 levels are a base::Error.
std::vector<XmlElement> parse_xml(std::string_view text, const std::string& file);

}  // namespace paceline::models
