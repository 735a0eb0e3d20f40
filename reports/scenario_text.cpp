// SPDX-License-Identifier: Apache-2.0
#include "reports/scenario_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "reports/answer.hpp"
#include "reports/text.hpp"
#include "reports/text_block.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;

/// Every line of `text` as a comment.
std::string commented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = printable(text.substr(0, end));
    for (const std::string& part : wrap(line, 98)) {
      out += part.empty() ? "#\n" : "# " + part + "\n";
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string profiles_text(const models::Scenario& scenario) {
  std::string out;
  for (const models::Profile& profile : scenario.profiles) {
    out += (out.empty() ? "" : ", ") + profile.name;
  }
  return out.empty() ? "none" : out;
}

/// A line a module: what it is, where it runs, whom it feeds.
std::string modules_text(const models::Scenario& scenario) {
  std::string out;
  for (const models::Module& m : scenario.modules) {
    const models::Scenario& view = *m.view;
    const int first = view.parallel.first_rank;
    out += "module " + m.name + (view.frozen ? " (frozen)" : "") + ": " +
           std::to_string(view.model.layers.size()) + " layers of " +
           std::to_string(view.model.hidden) + ", " +
           base::format_count(static_cast<double>(models::total_parameters(view.model))) +
           " parameters, ranks " + std::to_string(first) + " to " +
           std::to_string(first + view.parallel.world_size() - 1) + ", " +
           describe_layout(view.parallel, view.schedule);
    if (m.feeds >= 0) out += "; feeds " + scenario.modules[static_cast<std::size_t>(m.feeds)].name;
    out += "\n";
  }
  return out;
}

std::string stage_summary(const models::Plan& plan) {
  int fewest = 0, most = 0;
  for (const models::Stage& stage : plan.stages) {
    fewest = &stage == &plan.stages.front() ? stage.layers : std::min(fewest, stage.layers);
    most = std::max(most, stage.layers);
  }
  const std::string layers = fewest == most
                                 ? std::to_string(most)
                                 : std::to_string(fewest) + " to " + std::to_string(most);
  return std::to_string(plan.stages.size()) +
         (plan.stages.size() == 1 ? " stage of " : " stages of ") + layers + " layers, " +
         std::to_string(plan.microbatches) + " microbatches per replica and step";
}

bool is_number(const std::string& text) {
  // JSON's own grammar: no leading '+' or zeros, no hex, no "inf".
  std::size_t i = text.starts_with("-") ? 1 : 0;
  if (i >= text.size() || std::isdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  if (text[i] == '0' && i + 1 < text.size() &&
      std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) {
    return false;
  }
  if (text.find_first_not_of("0123456789+-.eE") != std::string::npos) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

void scalar(JsonWriter& json, const base::Value& value) {
  if (!value.quoted && (value.text == "true" || value.text == "false")) {
    json.value(value.text == "true");
  } else if (!value.quoted && is_number(value.text)) {
    const bool whole =
        value.text.find_first_of(".eE") == std::string::npos && value.text.size() < 18;
    if (whole) {
      json.value(static_cast<std::int64_t>(std::strtoll(value.text.c_str(), nullptr, 10)));
    } else {
      json.value(std::strtod(value.text.c_str(), nullptr));
    }
  } else {
    json.value(std::string_view(value.text));
  }
}

void tree(JsonWriter& json, const base::Value& value) {
  switch (value.kind) {
    case base::Value::Kind::Null:
      json.null();
      return;
    case base::Value::Kind::Scalar:
      scalar(json, value);
      return;
    case base::Value::Kind::List:
      json.begin_array();
      for (const base::Value& item : value.items) tree(json, item);
      json.end_array();
      return;
    case base::Value::Kind::Map:
      json.begin_object();
      for (const base::Field& field : value.fields) {
        json.key(field.key);
        tree(json, field.value);
      }
      json.end_object();
      return;
  }
}

void text_list(JsonWriter& json, std::string_view key, const std::vector<std::string>& items) {
  json.key(key).begin_array();
  for (const std::string& item : items) json.value(std::string_view(item));
  json.end_array();
}

void model_object(JsonWriter& json, const models::Model& model) {
  json.key("model").begin_object().field("name", std::string_view(model.name));
  json.field("family", std::string_view(model.family));
  json.field("source", std::string_view(model.source));
  json.field("parameters", models::total_parameters(model));
  json.field("active_parameters", models::active_parameters(model));
  json.field("hidden", model.hidden).field("vocab", model.vocab);
  json.field("layers", static_cast<std::int64_t>(model.layers.size())).end_object();
}

}  // namespace

std::string scenario_text(const models::Scenario& scenario, const models::Plan& plan) {
  std::string about = scenario.name + "\nscenario " + scenario.hash + ", from " + scenario.file +
                      "\n\n" + models::describe(scenario.model) + "\n";
  about += "machine: " + describe_machine(scenario.cluster) + ", " +
           std::to_string(plan.world_size) + " of " + std::to_string(scenario.cluster.devices()) +
           " devices used\n";
  about += "profile: " + profiles_text(scenario) + "; stack: " + scenario.stack.name + "\n";
  if (scenario.modules.size() > 1) {
    about += modules_text(scenario);
  } else {
    about += "layout: " + describe_layout(scenario.parallel, scenario.schedule) + "\n";
  }
  about += "stages: " + stage_summary(plan) + "\n";
  if (const std::string_view part = models::untimed_part(scenario.model); !part.empty()) {
    about += "not predicted: " + std::string(part) + " are not timed yet, `paceline run` refuses\n";
  }
  const auto& assumptions = scenario.assumptions;
  about += assumptions.empty() ? "assumptions: none\n" : "assumptions:\n";
  for (const std::string& item : assumptions) about += "  - " + item + "\n";
  const std::string resolved = scenario.resolved;
  return commented(about) + "\n" + resolved + (resolved.ends_with('\n') ? "" : "\n");
}

std::string scenario_json(const models::Scenario& scenario, const models::Plan& plan,
                          std::string_view command) {
  JsonWriter json;
  json.begin_object().field("schema", kCheckSchema).field("version", PACELINE_VERSION);
  json.field("command", command).key("scenario").begin_object();
  json.field("name", std::string_view(scenario.name))
      .field("file", std::string_view(scenario.file));
  json.field("hash", std::string_view(scenario.hash)).end_object();
  model_object(json, scenario.model);
  json.field("machine", std::string_view(describe_machine(scenario.cluster)));
  json.field("devices", plan.world_size);
  json.field("stages", static_cast<std::int64_t>(plan.stages.size()));
  json.field("microbatches", plan.microbatches);
  const std::string_view untimed = models::untimed_part(scenario.model);
  json.key("not_timed");
  untimed.empty() ? json.null() : json.value(untimed);
  json.key("resolved");
  tree(json, base::parse_yaml(scenario.resolved, scenario.file).root);
  text_list(json, "assumptions", scenario.assumptions);
  json.end_object();
  return json.finish();
}

}  // namespace paceline::reports
