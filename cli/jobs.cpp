// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "reports/answer.hpp"
#include "reports/jobs/report.hpp"

namespace paceline::cli {
namespace {

constexpr const char* kJobsHelp =
    "Jobs arrive over time in regions with devices, prices and links; each policy says who runs\n"
    "where. The step of every job is simulated on the placement it got. Shown are job completion\n"
    "time (JCT), queueing, cost and use of the devices, medians where the file asks for many\n"
    "instances. The exit status is 1 when something the file expects does not show, or a job "
    "never\n"
    "ends. 'paceline list policies' names the policies; docs/jobs.md says what is assumed.\n"
    "\n"
    "Examples:\n"
    "  paceline jobs scenarios/jobs/two_regions.yaml --each\n"
    "  paceline jobs scenarios/systems/bace-pipe/jobs.yaml --plain --csv jobs.csv --picture "
    "jobs.svg";

struct JobsOptions {
  std::string file, json, csv, picture;
  bool each = false, plain = false;
  int jobs = 0, instances = 0;
};

bool all_end(const sim::jobs::JobsResult& result) {
  for (const auto& variant : result.variants)
    for (const auto& row : variant.figures)
      for (const auto& figures : row)
        if (!figures) return false;
  return true;
}

int run_jobs_command(const JobsOptions& options) {
  reports::JobsReport report;
  report.version = PACELINE_VERSION;
  report.command = "paceline jobs " + reports::shell_word(options.file) +
                   (options.plain ? " --plain" : "") + (options.each ? " --each" : "");
  report.study = models::read_jobs(options.file);
  if (options.instances > 0) {
    for (models::JobsVariant& variant : report.study.variants)
      variant.file.random.instances = options.instances;
    report.command += " --instances " + std::to_string(options.instances);
  }
  if (options.plain) report.study = without_variants(std::move(report.study));
  Outputs outputs(options.file);
  std::optional<reports::OutputFile> json = outputs.open(options.json);
  std::optional<reports::OutputFile> csv = outputs.open(options.csv);
  std::optional<reports::OutputFile> picture = outputs.open(options.picture);
  std::optional<Progress> progress;
  sim::jobs::RunJobsOptions run;
  run.threads = options.jobs;
  run.progress = [&](std::size_t, std::size_t total) {
    if (!progress) progress.emplace("jobs", total);
    progress->step();
  };
  report.result = sim::jobs::run_jobs(report.study, run);
  if (json) json->write(jobs_json(report));
  if (csv) csv->write(jobs_csv(report));
  if (picture) picture->write(jobs_svg(report));
  for (auto* file : {&json, &csv, &picture})
    if (*file) (*file)->commit();
  if (options.json != "-" && options.csv != "-") print(jobs_text(report, options.each));
  return report.result.all_hold() && all_end(report.result) ? kDone : kAnswerIsNo;
}

}  // namespace

void add_jobs(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<JobsOptions>();
  CLI::App& jobs = add_command(program, "jobs",
                               "many jobs in many regions, under scheduling policies", kJobsHelp);
  add_option(jobs, "FILE", options->file, "regions, jobs and policies, YAML (docs/formats.md)",
             {.required = true});
  add_flag(jobs, "--each", options->each, "also print every job of the first instance");
  add_flag(jobs, "--plain", options->plain, "the file as it stands, without its variants");
  add_option(jobs, "--csv", options->csv, "also write the figures of every instance",
             {.value = "FILE"});
  add_option(jobs, "--picture", options->picture, "also draw the first instance",
             {.value = "FILE.svg"});
  add_option(jobs, "--instances", options->instances, "of all variants, whatever the file says",
             {.value = "N", .least = 1, .most = 10'000});
  add_option(jobs, "--jobs", options->jobs, "instances at a time; default one for each core",
             {.value = "N", .least = 1, .most = 1024});
  add_json_option(jobs, options->json);
  on_call(jobs, [options, &exit_code] { exit_code = run_jobs_command(*options); });
}

}  // namespace paceline::cli
