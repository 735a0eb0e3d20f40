// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrate.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "reports/answer.hpp"

namespace paceline::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp =
    "Fits the constants of a device to measurements: samples of `paceline bench`, JSON of Google\n"
    "Benchmark, logs of nccl-tests, together if they are of one device. Every curve is fitted so\n"
    "that a few disturbed samples do not move it; its residuals and the error of samples left out\n"
    "of the fit are printed. A curve that predicts its own samples worse than its bound is\n"
    "refused: nothing is written, and the exit status is 1.\n"
    "\n"
    "--out is a profile, which a scenario takes with `profile: FILE`. Processors have no data\n"
    "sheet, so FILE-device.yaml is written beside it, for `cluster: {node: {device: FILE}}`.\n"
    "\n"
    "Examples:\n"
    "  paceline calibrate samples.jsonl --out here.json\n"
    "  paceline run small.yaml --set cluster.node.device=here-device.yaml\n"
    "  paceline calibrate h200.jsonl all_reduce.txt --device h200 --out h200.json\n"
    "  paceline run big.yaml --set profile=h200.json";

struct Options {
  std::vector<std::string> inputs;
  std::string out, device, base, json;
  std::vector<std::string> without;
  bool anyway = false;
  calibrate::InputOptions input;
};

std::string normalised(const Options& options) {
  std::string command = "paceline calibrate";
  for (const std::string& file : options.inputs) command += " " + reports::shell_word(file);
  if (!options.device.empty()) command += " --device " + reports::shell_word(options.device);
  if (!options.base.empty()) command += " --base " + reports::shell_word(options.base);
  for (const std::string& kernel : options.without)
    command += " --without " + reports::shell_word(kernel);
  if (options.input.busy) command += " --busy";
  if (options.anyway) command += " --anyway";
  if (options.input.nodes > 0) command += " --nodes " + std::to_string(options.input.nodes);
  return command;
}

/// "here/x.json" -> "here/x-device.yaml".
std::string device_file(const std::string& out) {
  const fs::path path(out);
  return (path.parent_path() / (path.stem().string() + "-device.yaml")).string();
}

models::Device read_device(const std::string& name) {
  if (!models::names_file(name)) return models::read_device(name, "--device");
  return models::read_device(base::read_document(name), fs::path(name).stem().string());
}

calibrate::CalibrateOptions fit_options(const Options& options, const calibrate::Inputs& inputs) {
  calibrate::CalibrateOptions fit;
  fit.name = fs::path(options.out).stem().string();
  fit.device_name = fs::path(device_file(options.out)).stem().string();
  fit.without = options.without;
  if (!options.base.empty()) fit.base = models::read_profile(options.base);
  if (!options.device.empty()) {
    fit.device = read_device(options.device);
  } else if (inputs.machine.backend != "cpu") {
    if (inputs.machine.device.empty())
      throw base::Error("calibrate", "the logs do not say which device they are of",
                        "name it with --device");
    fit.device = calibrate::device_of(inputs.machine);
  }
  return fit;
}

int run_calibrate(const Options& options) {
  if (!models::names_file(options.out) || !options.out.ends_with(".json"))
    throw base::Error("--out '" + options.out + "'", "must end in .json");
  const calibrate::Inputs inputs = calibrate::read_inputs(options.inputs, options.input);
  for (const std::string& file : options.inputs)
    if (same_file_name(file) == same_file_name(options.out))
      throw base::Error("--out '" + options.out + "'", "is one of the inputs",
                        "write the profile to another file");
  const calibrate::Calibration result = calibrate::calibrate(inputs, fit_options(options, inputs));
  std::string text = calibration_text(result);
  if (result.accepted() || options.anyway) {
    base::write_file(options.out, result.profile_text);
    text += "profile: " + options.out + "\n";
    if (result.own_device) {
      const std::string file = device_file(options.out);
      base::write_file(file, device_yaml(result, fs::path(options.out).filename().string()));
      text += "device: " + file + "\n";
    }
  } else {
    text += "no profile is written; --without KERNEL leaves a kernel out\n";
  }
  answer(text, options.json.empty() ? "" : calibration_json(result, normalised(options)),
         options.json);
  return result.accepted() || options.anyway ? kDone : kAnswerIsNo;
}

}  // namespace

void add_calibrate(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "calibrate", "fit a device profile to measurements", kHelp);
  add_option(command, "INPUT", options->inputs,
             "samples.jsonl, Google Benchmark JSON, nccl-tests log", {.required = true});
  add_option(command, "--out", options->out, "the profile to write",
             {.value = "FILE.json", .required = true});
  add_option(command, "--device", options->device,
             "data sheet of the device, by name or file; default: the one\n"
             "whose name the samples have, none for a processor",
             {.value = "NAME"});
  add_option(command, "--base", options->base, "profile to keep what was not measured from",
             {.value = "NAME"});
  add_option(command, "--without", options->without, "leave samples of these kernels out",
             {.value = "A,B,...", .separator = ','});
  add_flag(command, "--busy", options->input.busy, "also take samples of a busy machine");
  add_flag(command, "--anyway", options->anyway, "write the profile although a curve is refused");
  add_option(command, "--nodes", options->input.nodes, "of logs that do not say",
             {.value = "N", .least = 1, .most = 100000});
  add_json_option(command, options->json);
  on_call(command, [options, &exit_code] { exit_code = run_calibrate(*options); });
}

}  // namespace paceline::cli
