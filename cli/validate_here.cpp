// SPDX-License-Identifier: Apache-2.0
#include "cli/validate_here.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/run_program.hpp"
#include "base/text.hpp"
#include "calibrate/robust.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "kernels/collective/ranks.hpp"
#include "kernels/host_load.hpp"
#include "models/scenario/scenario_folders.hpp"
#include "reports/text_block.hpp"

namespace paceline::cli {
namespace {

namespace fs = std::filesystem;

/// A layout, schedule or size of scenarios/here/base.yaml.
struct HereCase {
  const char* name;
  std::vector<const char*> set;
};

const std::vector<HereCase>& cases() {
  static const std::vector<HereCase> all = {
      {"pp2 1f1b", {}},
      {"pp2 gpipe", {"schedule.name=gpipe"}},
      {"pp2 zb-h1", {"schedule.name=zb-h1"}},
      {"pp2 interleaved", {"schedule={name: interleaved-1f1b, chunks: 2}"}},
      {"pp2 1f1b wide", {"model.hidden=768", "model.heads=12", "model.ffn=2304"}},
      {"pp2 1f1b long", {"batch.sequence=512", "batch.global=4"}},
      {"pp2 1f1b ready", {"schedule={name: 1f1b, dispatch: ready}"}},
      {"dp2", {"parallel={pp: 1, dp: 2}"}},
      {"dp2 zero 1", {"parallel={pp: 1, dp: 2, zero: 1}"}},
      {"dp2 zero 3", {"parallel={pp: 1, dp: 2, zero: 3}"}},
      {"dp2 wide",
       {"parallel={pp: 1, dp: 2}", "model.hidden=768", "model.heads=12", "model.ffn=2304"}},
      {"tp2", {"parallel={tp: 2, pp: 1, dp: 1}"}},
      {"tp2 sequence parallel", {"parallel={tp: 2, pp: 1, dp: 1, sequence_parallel: true}"}},
      {"one rank", {"parallel={pp: 1, dp: 1}", "batch.global=4"}},
  };
  return all;
}

/// The values of a case; in a quick look all models are tiny.
std::vector<std::string> settings_of(const HereCase& one, bool quick) {
  std::vector<std::string> settings(one.set.begin(), one.set.end());
  if (quick) {
    for (const char* tiny : {"model.hidden=64", "model.heads=4", "model.ffn=128", "model.vocab=256",
                             "batch.sequence=32"})
      settings.emplace_back(tiny);
  }
  return settings;
}

/// What was found for one case; an empty `problem` means it ran.
struct HereResult {
  std::string name, problem;
  double predicted = 0, measured = 0;  ///< seconds of a step
  struct Work {
    std::string name, kind;
    double predicted = 0, measured = 0;
  };
  std::vector<Work> work;
  double error() const { return predicted / measured - 1; }
};

/// This program again, with its output in a file of the folder.
base::ChildEnd run_self(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), fs::read_symlink("/proc/self/exe").string());
  return base::run_program(words, (folder / "output.txt").string());
}

/// Its last words, and where the others are.
void require_well(const base::ChildEnd& end, const fs::path& folder, const std::string& what) {
  if (end.well()) return;
  const std::string file = (folder / "output.txt").string();
  std::istringstream lines(base::read_file(file));
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  const std::string said = what + ", " + to_text(end) + ": " + base::one_line(last, 300);
  if (end.status == kMissing) throw base::MissingError("validate here: " + said);
  throw base::Error("validate here", said, "all it said is in " + file);
}

/// Memory, kernels of all cases, then messages and collectives of two ranks.
void measure(const fs::path& folder, const std::string& scenario, bool quick) {
  const std::string samples = (folder / "samples.jsonl").string();
  show_progress("bench of memory");
  std::vector<std::string> memory{"bench", "--together", "2", "--only", "triad,copy-d2d,launch",
                                  "--out", samples};
  if (quick) memory.emplace_back("--quick");
  require_well(run_self(folder, memory), folder, "bench of memory");
  for (std::size_t i = 0; i < cases().size(); ++i) {
    show_progress("bench " + std::to_string(i + 1) + " of " + std::to_string(cases().size()));
    std::vector<std::string> words{"bench", "--together", "2",        "--for", scenario,
                                   "--out", samples,      "--resume", samples};
    if (quick) words.emplace_back("--quick");
    // Any device will do for shapes: that of this machine is not there yet.
    words.insert(words.end(), {"--set", "cluster.node.device=h100-sxm"});
    for (const std::string& set : settings_of(cases()[i], quick))
      words.insert(words.end(), {"--set", set});
    require_well(run_self(folder, words), folder, "bench of " + std::string(cases()[i].name));
  }
  show_progress("bench of messages");
  const std::string messages = (folder / "messages.jsonl").string();
  std::vector<std::string> words{"bench", "--ranks", "2", "--out", messages};
  if (quick) words.emplace_back("--quick");
  require_well(run_self(folder, words), folder, "bench of messages");
}

/// A profile of the samples. What calibrate refuses to believe is said; the loop goes on with it.
std::string fit(const fs::path& folder, bool busy) {
  show_progress("calibrate");
  std::vector<std::string> words{"calibrate", (folder / "samples.jsonl").string(),
                                 (folder / "messages.jsonl").string(), "--out",
                                 (folder / "here.json").string()};
  if (busy) words.emplace_back("--busy");
  if (run_self(folder, words).well()) return "";
  const std::string said = base::read_file((folder / "output.txt").string());
  words.emplace_back("--anyway");
  require_well(run_self(folder, words), folder, "calibrate");
  std::string refused;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("REFUSED ")) refused += line + "\n";
  return refused;
}

void read_work(base::Fields& fields, HereResult& result) {
  for (const base::Value& item : fields.list("work")) {
    base::Fields row = fields.view(item, "work");
    HereResult::Work work;
    work.name = row.text("name");
    work.kind = row.text("kind");
    work.predicted = row.number("predicted_s", 0, 1e12);
    work.measured = row.number("measured_s", 0, 1e12);
    result.work.push_back(work);
  }
}

HereResult run_case(const fs::path& folder, const std::string& scenario, const HereCase& one,
                    bool quick) {
  HereResult result;
  result.name = one.name;
  const std::string details = (folder / "details.json").string();
  std::vector<std::string> words{"execute", scenario, "--details", details};
  words.insert(words.end(), {"--set", "cluster.node.device=" +
                                          fs::absolute(folder / "here-device.yaml").string()});
  for (const std::string& set : settings_of(one, quick)) words.insert(words.end(), {"--set", set});
  const base::ChildEnd end = run_self(folder, words);
  if (!end.well()) {
    result.problem = to_text(end);
    return result;
  }
  const base::Document document = base::read_document(details);
  base::Fields fields(document, document.root);
  result.predicted = fields.number("predicted_step_s", 0, 1e12);
  result.measured = fields.number("measured_step_s", 0, 1e12);
  read_work(fields, result);
  return result;
}

std::vector<double> step_errors(const std::vector<HereResult>& results) {
  std::vector<double> errors;
  for (const HereResult& r : results) {
    if (r.problem.empty()) errors.push_back(std::abs(r.error()));
  }
  return errors;
}

std::string signed_percent(double value) {
  return (value >= 0 ? "+" : "-") + base::format_percent(std::abs(value));
}
std::string seconds(double value) { return base::format_seconds(base::Seconds(value)); }

/// Seconds of all cases by kind of work.
std::vector<HereResult::Work> work_of_all(const std::vector<HereResult>& results) {
  std::vector<HereResult::Work> all;
  for (const HereResult& result : results) {
    for (const HereResult::Work& work : result.work) {
      auto found = std::find_if(all.begin(), all.end(), [&](const HereResult::Work& w) {
        return w.name == work.name && w.kind == work.kind;
      });
      if (found == all.end()) found = all.insert(all.end(), {work.name, work.kind, 0, 0});
      found->predicted += work.predicted;
      found->measured += work.measured;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.measured > b.measured; });
  return all;
}

std::string table(const std::vector<HereResult>& results) {
  using reports::pad_left, reports::pad_right;
  std::string out = pad_right("case", 26) + pad_left("predicted", 12) + pad_left("measured", 12) +
                    pad_left("error", 10) + "\n";
  for (const HereResult& r : results) {
    out += pad_right(r.name, 26);
    out += r.problem.empty()
               ? pad_left(seconds(r.predicted), 12) + pad_left(seconds(r.measured), 12) +
                     pad_left(signed_percent(r.error()), 10)
               : "  did not run: " + r.problem;
    out += "\n";
  }
  const std::vector<double> errors = step_errors(results);
  out += "\nstep time  median error " + base::format_percent(calibrate::median(errors)) + " over " +
         std::to_string(errors.size()) + " cases\n\n" + pad_right("work, all cases", 26) +
         pad_right("", 12) + pad_left("predicted", 12) + pad_left("measured", 12) +
         pad_left("error", 10) + "\n";
  for (const HereResult::Work& w : work_of_all(results)) {
    if (w.measured <= 0) continue;
    out += pad_right(reports::cut(w.name, 25), 26) + pad_right(w.kind, 12) +
           pad_left(seconds(w.predicted), 12) + pad_left(seconds(w.measured), 12) +
           pad_left(signed_percent(w.predicted / w.measured - 1), 10) + "\n";
  }
  return out;
}

std::string json_of(const std::vector<HereResult>& results, bool busy) {
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-here-1").field("version", PACELINE_VERSION);
  json.field("command", "paceline validate here").field("busy", busy);
  json.field("median_error", calibrate::median(step_errors(results)));
  json.key("cases").begin_array();
  for (const HereResult& r : results) {
    json.begin_object().field("name", std::string_view(r.name));
    json.field("problem", std::string_view(r.problem));
    json.field("predicted_s", r.predicted).field("measured_s", r.measured);
    if (r.measured > 0) json.field("error", r.error());
    json.end_object();
  }
  json.end_array().key("work").begin_array();
  for (const HereResult::Work& w : work_of_all(results)) {
    json.begin_object().field("name", std::string_view(w.name));
    json.field("kind", std::string_view(w.kind)).field("predicted_s", w.predicted);
    json.field("measured_s", w.measured).end_object();
  }
  json.end_array().end_object();
  return json.finish();
}

/// Whether others use the processors now.
bool busy_now(kernels::HostLoad& load) {
  kernels::HostMonitor monitor;
  const kernels::HostReading start = kernels::read_host();
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * kernels::HostMonitor::kWindow));
  load = monitor.since(start);
  return load.other_cores > kernels::kBusyCores;
}

}  // namespace

int validate_here(const HereOptions& options) {
  kernels::require_ranks(2);
  kernels::HostLoad load;
  const bool busy = busy_now(load);
  if (busy && !options.busy) {
    print("This machine is busy: others use " + base::format_fixed(load.other_cores, 1) +
          " cores. Times measured now say nothing; wait, or go on with --busy.\n");
    return kAnswerIsNo;
  }
  const fs::path folder = options.folder;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw base::Error("--folder " + base::quote(options.folder), failed.message());
  const std::string scenario = models::example_file("here/base.yaml");
  measure(folder, scenario, options.quick);
  const std::string refused = fit(folder, busy);
  std::vector<HereResult> results;
  for (const HereCase& one : cases()) {
    show_progress("execute " + std::string(one.name));
    results.push_back(run_case(folder, scenario, one, options.quick));
  }
  show_progress("");
  answer(refused + table(results), options.json.empty() ? "" : json_of(results, busy),
         options.json);
  const bool all = std::all_of(results.begin(), results.end(), [](const HereResult& r) {
    return r.problem.empty() && std::isfinite(r.predicted) && r.measured > 0;
  });
  return all ? kDone : kAnswerIsNo;
}

}  // namespace paceline::cli
