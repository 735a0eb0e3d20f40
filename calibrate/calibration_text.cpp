// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "calibrate/calibrate.hpp"

namespace paceline::calibrate {
namespace {

void write_report(base::JsonWriter& json, const CurveReport& r) {
  json.begin_object().field("curve", std::string_view(r.name));
  json.field("law", std::string_view(r.law)).field("samples", r.samples);
  json.field("outliers", r.outliers).field("median_error", r.median);
  json.field("p90_error", r.p90).field("worst_error", r.worst);
  json.field("worst", std::string_view(r.worst_label));
  if (r.held_median) {
    json.field("held_out_samples", static_cast<std::uint64_t>(r.held_errors.size()));
    json.field("held_out_median_error", *r.held_median);
    json.field("held_out_p90_error", *r.held_p90);
  }
  json.field("bound", r.bound).field("passed", r.passed()).end_object();
}

}  // namespace

std::string calibration_text(const Calibration& c) {
  std::string text =
      base::one_line(c.machine.device.empty() ? "device not named" : c.machine.device);
  text += c.own_device ? ", no data sheet" : ", data sheet " + c.device.name;
  text += "\n";
  for (const models::ProfileInput& file : c.profile.inputs)
    text += "  " + file.file + ": " + std::to_string(file.used) + " of " +
            std::to_string(file.samples) + " samples, hash " + file.hash + "\n";
  text += "\n" + report_table(c.reports);
  for (const models::PowerDraw& draw : c.profile.power)
    text += "power of " + draw.work + ": " + base::format_fixed(draw.power.value, 0) + " W\n";
  for (const std::string& note : c.notes) text += "note: " + note + "\n";
  return text + "band of a prediction: +-" + base::format_percent(c.profile.residual) + "\n";
}

std::string calibration_json(const Calibration& c, const std::string& command) {
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-calibration-1");
  json.field("version", PACELINE_VERSION).field("command", std::string_view(command));
  json.field("backend", std::string_view(c.machine.backend));
  json.field("device", std::string_view(c.machine.device));
  json.field("accepted", c.accepted()).field("residual_fraction", c.profile.residual);
  json.key("curves").begin_array();
  for (const CurveReport& r : c.reports) write_report(json, r);
  json.end_array().key("notes").begin_array();
  for (const std::string& note : c.notes) json.value(std::string_view(note));
  json.end_array().end_object();
  return json.finish();
}

}  // namespace paceline::calibrate
