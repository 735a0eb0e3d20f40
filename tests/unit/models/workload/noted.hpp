// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>

#include "models/workload/model.hpp"

namespace tests {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Has the model a note with this in it?
inline bool noted(const paceline::models::Model& model, const std::string& part) {
  return std::any_of(model.notes.begin(), model.notes.end(),
                     [&](const std::string& note) { return contains(note, part); });
}

}  // namespace tests
