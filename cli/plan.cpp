// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"
#include "reports/answer.hpp"
#include "reports/html/report.hpp"
#include "reports/search.hpp"
#include "sim/predict.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kPlanHelp =
    "Searches the best layout for a model, a cluster and a batch: tensor, pipeline, context, "
    "expert\n"
    "and data parallelism, microbatch, schedule and chunks, cut of the layers, recomputation and\n"
    "ZeRO; with --space full also offloading, the optimizer's place and every schedule that ends\n"
    "a step with a flush. A lower bound from the same costs cuts off what cannot win; what is\n"
    "left is simulated, so that the answer is the best of the space, and says so.\n"
    "\n"
    "--vary replaces the values of one dimension: devices, order, tp, cp, pp, ep, etp,\n"
    "sequence_parallel, micro, schedule, chunks, layers (stack, balanced), recompute (none,\n"
    "selective, blockwise-50, full), zero, offload, optimizer (gpu, cpu). The exit status is 1\n"
    "when no layout fits. Ctrl-C ends the search with the best layouts so far and how much better\n"
    "one that is left may be, and status 130; a second one ends it at once.\n"
    "\n"
    "Examples:\n"
    "  paceline plan scenarios/06_llama3_70b_64_h100.yaml\n"
    "  paceline plan scenarios/06_llama3_70b_64_h100.yaml --vary schedule=1f1b,zb-v --vary tp=4,8\n"
    "  paceline plan scenarios/06_llama3_70b_64_h100.yaml --objective cost --vary devices=16,32,64 "
    "\\\n"
    "    --set run.tokens=1e12 --set run.price=on-demand --set run.provider=aws --deadline 400d";

struct PlanOptions {
  std::string scenario;
  std::vector<std::string> set, vary;
  std::string space = "default", objective = "time", memory, deadline, budget, json, report;
  int shown = 6, evaluations = 20000, jobs = 0;
};

sim::Objective objective_of(const std::string& name) {
  if (name == "time") return sim::Objective::Time;
  if (name == "cost") return sim::Objective::Cost;
  if (name == "energy") return sim::Objective::Energy;
  throw base::Error("--objective " + name, "is none of time, cost, energy", "--objective time");
}

/// "400d", or hours and less as scenarios take them.
double deadline_of(const std::string& text) {
  const std::string where = "--deadline " + text;
  double seconds = 0;
  if (text.ends_with("d")) {
    const std::string days = text.substr(0, text.size() - 1);
    seconds = 86400 * base::parse_number(days, where + " (days)", 0, 1e6);
  } else if (text.ends_with("h") || text.ends_with("min")) {
    seconds = base::parse_seconds(text, where).value;
  }
  if (!(seconds > 0)) throw base::Error(where, "is no time above 0", "400d, or 36h");
  return seconds;
}

/// "1e6" or "1e6 USD".
double budget_of(std::string text) {
  const std::string where = "--budget " + text;
  if (text.ends_with("USD")) text.resize(text.size() - 3);
  while (text.ends_with(' ')) text.pop_back();
  return base::parse_number(text, where, 1, 1e15);
}

/// What is trained and on what is asked; the layout the file has need not divide.
models::Scenario read_any_layout(const std::string& file, std::vector<std::string>& set) {
  try {
    return models::read_scenario_file(file, set);
  } catch (const base::Error&) {
    std::vector<std::string> plain = set;
    for (const char* word :
         {"parallel.tp=1", "parallel.pp=1", "parallel.cp=1", "parallel.ep=1", "parallel.etp=1",
          "parallel.dp=", "parallel.stage_layers=", "schedule=1f1b", "batch.micro=1"})
      plain.emplace_back(word);
    models::Scenario scenario;
    try {
      scenario = models::read_scenario_file(file, plain);
    } catch (const base::Error&) {  // not because of the layout
    }
    if (scenario.file.empty()) throw;
    set = plain;
    return scenario;
  }
}

std::string plan_command(const PlanOptions& o) {
  std::string command = "paceline plan " + reports::shell_word(o.scenario);
  const auto add = [&](const char* name, const std::string& value) {
    command += std::string(" ") + name + " " + reports::shell_word(value);
  };
  for (const std::string& item : o.set) add("--set", item);
  for (const std::string& item : o.vary) add("--vary", item);
  if (o.space != "default") add("--space", o.space);
  if (o.objective != "time") add("--objective", o.objective);
  if (!o.memory.empty()) add("--memory", o.memory);
  if (!o.deadline.empty()) add("--deadline", o.deadline);
  if (!o.budget.empty()) add("--budget", o.budget);
  if (o.shown != 6) add("--show", std::to_string(o.shown));
  if (o.evaluations != 20000) add("--evaluations", std::to_string(o.evaluations));
  return command;
}

sim::SearchOptions search_options(const PlanOptions& o) {
  sim::SearchOptions options;
  options.objective = objective_of(o.objective);
  if (!o.memory.empty()) {
    options.limits.memory_bytes = base::parse_bytes(o.memory, "--memory").value;
    if (options.limits.memory_bytes <= 0)
      throw base::Error("--memory " + o.memory, "is not above 0", "for example 70GiB");
  }
  if (!o.deadline.empty()) options.limits.run_seconds = deadline_of(o.deadline);
  if (!o.budget.empty()) options.limits.run_money = budget_of(o.budget);
  options.shown = o.shown;
  options.evaluations = static_cast<std::size_t>(o.evaluations);
  options.threads = o.jobs;
  return options;
}

/// Tells how far a search is: on a terminal all the time, and with --verbose a line now and then.
class PlanProgress {
 public:
  explicit PlanProgress(sim::Objective objective) : objective_(objective) {}
  ~PlanProgress() { show_progress(""); }
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;
  void operator()(const sim::SearchProgress& at) {
    const std::lock_guard lock(showing_);
    const Clock::time_point now = Clock::now();
    if (verbose() && now - said_ >= std::chrono::seconds(10)) {
      said_ = now;
      show_progress("");
      std::fprintf(stderr, "paceline: %s\n", words(at).c_str());
    }
    if (now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    show_progress(words(at));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string words(const sim::SearchProgress& at) const {
    std::string text = "plan: ";
    if (at.passes > 1) text += at.pass < at.passes ? "the plain part first, " : "all of it, ";
    text += base::format_count(at.done) + " of " + base::format_count(at.points) +
            " layouts done, " + base::format_count(at.evaluated) + " simulated, ";
    return text + (at.best ? "best so far " + reports::objective_text(objective_, *at.best)
                           : std::string("nothing fits yet"));
  }
  sim::Objective objective_;
  std::mutex showing_;
  Clock::time_point said_ = Clock::now(), shown_ = said_;
};

/// At most so many simulated layouts are drawn on a page.
constexpr std::size_t kDrawn = 3000;

/// What `run` says of the best layout, with its timeline; nothing where nothing fits, or the file
/// is no longer there.
struct BestRun {
  reports::Answer answer;
  std::string view;
};
std::optional<BestRun> run_best(const PlanOptions& o, const reports::SearchReport& report) {
  if (report.best.empty()) return std::nullopt;
  const reports::PlannedLayout& best = report.best.front();
  try {
    const models::Scenario scenario = models::read_scenario_file(o.scenario, best.set);
    const sim::Prediction prediction =
        sim::predict(scenario, {.threads = o.jobs, .energy = true, .inner = true});
    return BestRun{reports::make_answer(scenario, prediction, best.command),
                   reports::report_view(scenario, prediction)};
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

struct PlanOutputs {
  std::optional<reports::OutputFile> json, page;
};

void write_plan(const PlanOptions& o, const reports::SearchReport& report, PlanOutputs& outputs) {
  if (outputs.json) outputs.json->write(reports::search_json(report));
  if (outputs.page) {
    const std::optional<BestRun> best = run_best(o, report);
    std::vector<reports::ReportRun> runs;
    if (best) runs.push_back({&best->answer, best->view});
    outputs.page->write(reports::plan_report(report, runs));
  }
  for (auto* file : {&outputs.json, &outputs.page})
    if (*file) (*file)->flush();
  for (auto* file : {&outputs.json, &outputs.page})
    if (*file) (*file)->commit();
  if (o.json != "-" && o.report != "-")
    print(reports::search_text(report, reports::terminal_style()));
}

int run_plan(const PlanOptions& o) {
  if (o.space != "default" && o.space != "full")
    throw base::Error("--space " + o.space, "is neither default nor full", "--space full");
  if (!o.report.empty()) reports::require_report_library();
  sim::SearchOptions options = search_options(o);
  std::vector<std::string> set = o.set;
  const models::Scenario scenario = read_any_layout(o.scenario, set);
  sim::SearchSpace space = sim::search_space(scenario, o.space == "full");
  for (const std::string& text : o.vary) sim::vary(space, scenario, text);
  Outputs paths(o.scenario);
  PlanOutputs outputs{paths.open(o.json), paths.open(o.report)};
  if (outputs.page) options.tried = kDrawn;
  sim::SearchAnswer answer;
  int signal = 0;
  {
    const Interrupts interrupts;
    PlanProgress progress(options.objective);
    options.stop = &interrupts.stop();
    options.progress = [&](const sim::SearchProgress& at) { progress(at); };
    answer = sim::search(scenario, space, options);
    signal = interrupts.signal();
  }
  const reports::SearchReport report =
      reports::make_search_report(scenario, set, options, std::move(answer), plan_command(o));
  write_plan(o, report, outputs);
  if (report.interrupted) return 128 + signal;
  return report.best.empty() ? kAnswerIsNo : kDone;
}

}  // namespace

void add_plan(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App& plan = add_command(program, "plan", "search the best layout", kPlanHelp);
  add_scenario(plan, options->scenario);
  add_set_option(plan, options->set);
  add_option(plan, "--vary", options->vary, "values of a dimension; may be repeated",
             {.value = "NAME=A,B,...", .one_each = true});
  add_option(plan, "--space", options->space, "default, or full: every dimension",
             {.value = "NAME"});
  add_option(plan, "--objective", options->objective,
             "time (the default), cost or energy of a step", {.value = "NAME"});
  add_option(plan, "--memory", options->memory, "most a device may reserve, 70GiB",
             {.value = "BYTES"});
  add_option(plan, "--deadline", options->deadline, "most the run may take, 400d; needs run.tokens",
             {.value = "TIME"});
  add_option(plan, "--budget", options->budget, "most the run may cost, USD; needs prices",
             {.value = "USD"});
  add_option(plan, "--show", options->shown, "layouts in the answer; default 6",
             {.value = "N", .least = 1, .most = 1000});
  add_option(plan, "--evaluations", options->evaluations,
             "most layouts to simulate; default 20000. After them the answer is\n"
             "not proven, and says by how much",
             {.value = "N", .least = 1, .most = 100000000});
  add_option(plan, "--jobs", options->jobs, "threads; default one for each core",
             {.value = "N", .least = 1, .most = 1024});
  add_json_option(plan, options->json);
  add_option(plan, "--report", options->report, "also write one HTML page to read and send",
             {.value = "FILE"});
  on_call(plan, [options, &exit_code] { exit_code = run_plan(*options); });
}

}  // namespace paceline::cli
