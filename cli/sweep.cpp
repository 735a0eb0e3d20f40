// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/child_pool.hpp"
#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"
#include "cli/sweep_ranks.hpp"
#include "models/scenario/point_choice.hpp"
#include "models/scenario/set_values.hpp"
#include "reports/answer.hpp"
#include "reports/html/report.hpp"
#include "sim/engine/simgrid.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kSweepHelp =
    "Predicts a scenario for lists of values: one row per point, points that neither a faster\n"
    "nor a smaller one beats marked with * (--pareto: a front of other quantities). --over names\n"
    "a path of the scenario and its values; several are crossed, or paired with --zip. --where\n"
    "keeps the points that meet a condition, --sample draws some of a grid that is too large.\n"
    "Points run in processes of their own: bad input, a job that does not fit or a crash is the\n"
    "row of that point, and the others go on.\n"
    "\n"
    "--out writes every row: FILE.csv at the end, FILE.jsonl as they come, so that --resume can "
    "go\n"
    "on where a sweep was stopped (also with longer lists); finished files have the rows in the\n"
    "order of the points. The exit status is 1 when no point fits, 2 when all are\n"
    "bad input.\n"
    "\n"
    "Started by mpirun or srun, the processes share the points: whoever is free takes the next,\n"
    "and rank 0 writes one file, the same bytes as one process would. In a Slurm array, --part "
    "K/N\n"
    "takes every N-th point; --resume of all their files puts them together.\n"
    "\n"
    "Examples:\n"
    "  paceline sweep scenarios/02_llama3_8b_8_h100.yaml --over parallel.zero=0,1,2,3 \\\n"
    "    --over batch.micro=1,2,4\n"
    "  paceline sweep scenarios/06_llama3_70b_64_h100.yaml --zip --over parallel.tp=2,4,8 \\\n"
    "    --over parallel.pp=8,4,2 --set schedule.chunks=1 --out layouts.csv\n"
    "  paceline sweep scenarios/06_llama3_70b_64_h100.yaml --over parallel.tp=1,2,4,8 \\\n"
    "    --over parallel.pp=1,2,4,8 --where 'tp*pp >= 8' --pareto time,memory --report s.html\n"
    "  paceline sweep scenarios/06_llama3_70b_64_h100.yaml --over 'schedule=1f1b,\n"
    "    {name: interleaved-1f1b, chunks: 5}' --out s.jsonl --resume s.jsonl";

struct SweepOptions {
  std::string scenario;
  EngineChoice engine;
  std::vector<std::string> set, over, where;
  std::string sample, pareto = "time,memory";
  std::optional<std::string> seed;
  bool zip = false;
  int jobs = 0;  ///< 0: one for each core
  std::string part;
  std::vector<std::string> resume;
  std::string out, json, report;
};

std::string normalised(const SweepOptions& options) {
  std::string command = "paceline sweep " + reports::shell_word(options.scenario);
  for (const std::string& item : options.set) command += " --set " + reports::shell_word(item);
  for (const std::string& item : options.over) command += " --over " + reports::shell_word(item);
  if (options.zip) command += " --zip";
  for (const std::string& text : options.where) command += " --where " + reports::shell_word(text);
  if (!options.sample.empty()) command += " --sample " + reports::shell_word(options.sample);
  if (options.seed) command += " --seed " + reports::shell_word(*options.seed);
  if (options.pareto != SweepOptions().pareto) command += " --pareto " + options.pareto;
  return command + " " + engine_words(options.engine);
}

/// In a process of its own as well: a scenario that crashes it is the row of a point, not the end.
void check(const models::Sweep& sweep) {
  std::string problem;
  const auto look = [&](std::size_t) {
    try {
      models::check_sweep(sweep);
    } catch (const base::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  base::run_in_children(1, 1, look,
                        [&](const base::ChildAnswer& answer) { problem = answer.text; });
  if (!problem.empty()) throw base::Error(problem);
}

models::Sweep read_sweep(const SweepOptions& options) {
  base::Document document = base::read_document(options.scenario, models::scenario_limits());
  models::set_values(document, options.set);
  std::vector<models::SweepAxis> axes;
  for (const std::string& text : options.over) axes.push_back(models::parse_axis(text));
  models::PointChoice choice;
  if (!options.sample.empty()) choice = models::parse_sample(options.sample);
  if (options.seed)
    choice.seed = static_cast<std::uint64_t>(
        base::parse_integer(*options.seed, "--seed", 0, std::numeric_limits<std::int64_t>::max()));
  choice.where = options.where;
  models::Sweep sweep =
      models::make_sweep(std::move(document), std::move(axes), options.zip,
                         choice.count > 0 ? models::kMaxSampledGrid : models::kMaxSweepPoints);
  if (choice.count > 0 || !choice.where.empty()) models::choose_points(sweep, choice);
  check(sweep);
  return sweep;
}

bool grows(const std::string& out) { return out.ends_with(".jsonl"); }

void check_out(const std::string& out) {
  if (out.empty() || grows(out) || out.ends_with(".csv")) return;
  throw base::Error("--out '" + out + "'", "ends neither in .csv nor in .jsonl",
                    "the name says the format; --json writes one document");
}

/// Rows as they come, where the file can be replaced by the finished one.
class SweepJournal {
 public:
  SweepJournal(std::optional<reports::OutputFile>& file, const reports::SweepHeader& header)
      : file_(file && file->replaces() ? &*file : nullptr), header_(header) {}
  void begin(const std::vector<reports::SweepRow>& rows) {
    if (file_ == nullptr) return;
    file_->write(reports::sweep_header_line(header_));
    for (const reports::SweepRow& row : rows) file_->write(sweep_row_line(header_, row));
    file_->publish();
  }
  void add(const reports::SweepRow& row) {
    if (file_ == nullptr) return;
    file_->write(sweep_row_line(header_, row));
    file_->flush();
  }

 private:
  reports::OutputFile* file_;
  const reports::SweepHeader& header_;
};

/// "2/8": points 2, 10, 18, ... of a sweep that others do the rest of.
struct SweepPart {
  std::size_t first = 0, of = 1;
};
SweepPart parse_part(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = text.find('/');
  const std::string where = "--part '" + text + "'";
  if (slash == std::string::npos)
    throw base::Error(where, "is no part", "K/N with K from 0 to N - 1: 2/8");
  const auto of = base::parse_integer(text.substr(slash + 1), where, 1, 1'000'000);
  return {static_cast<std::size_t>(base::parse_integer(text.substr(0, slash), where, 0, of - 1)),
          static_cast<std::size_t>(of)};
}

/// Those without a row yet.
std::vector<std::size_t> points_left(const SweepOptions& options, const models::Sweep& sweep,
                                     const std::vector<reports::SweepRow>& rows) {
  const SweepPart part = parse_part(options.part);
  std::vector<bool> done(sweep.points, false);
  for (const reports::SweepRow& row : rows) done[row.point] = true;
  std::vector<std::size_t> left;
  for (std::size_t p = part.first; p < sweep.points; p += part.of) {
    if (!done[p]) left.push_back(p);
  }
  return left;
}

/// Points of an earlier run first, then the others; on rank 0 all rows, on others none.
std::vector<reports::SweepRow> compute_rows(const SweepOptions& options, const models::Sweep& sweep,
                                            const reports::SweepHeader& header,
                                            SweepJournal& journal,
                                            const kernels::Communicator& ranks,
                                            std::vector<reports::SweepRow> rows) {
  const std::vector<std::size_t> left = from_first_rank(ranks, points_left(options, sweep, rows));
  sim::PredictOptions predict = find_engine(options.engine);
  predict.energy = true;
  const int cores = cores_of_rank(ranks);
  const int jobs = options.jobs > 0 ? options.jobs : cores;
  std::optional<Progress> progress;
  if (ranks.rank() == 0) progress.emplace("sweep", left.size());
  const auto predict_one = [&](std::size_t point) {
    return reports::predict_point(sweep, point, predict);
  };
  const auto take = [&](reports::SweepRow row) {
    journal.add(row);
    rows.push_back(std::move(row));
    progress->step();
  };
  if (ranks.size() == 1) {
    if (reports::run_points(sweep, header, left, jobs, predict_one, take)) return rows;
    throw base::Error("interrupted", std::to_string(rows.size()) + " points are done");
  }
  SharedSweep shared(ranks, [&](const std::string& lines) {
    for (reports::SweepRow& row : reports::read_sweep_lines(lines, header)) take(std::move(row));
  });
  const auto give = [&](const reports::SweepRow& row) {
    shared.give(reports::sweep_row_line(header, row));
  };
  const auto share = [&](std::size_t pieces) { return shared.source(pieces); };
  std::function<void(reports::SweepRow)> to = take;
  if (ranks.rank() > 0) to = give;
  if (!reports::run_points(sweep, header, left, jobs, predict_one, to, share, ranks.size()))
    throw base::Error("interrupted", std::to_string(rows.size()) + " points are done");
  shared.finish();
  return rows;
}

std::vector<reports::SweepRow> resumed_rows(const SweepOptions& options, const models::Sweep& sweep,
                                            const reports::SweepHeader& header) {
  std::map<std::vector<std::string>, reports::SweepRow> known;
  for (const std::string& file : options.resume)
    known.merge(reports::read_sweep_rows(file, header));
  std::vector<reports::SweepRow> rows;
  for (std::size_t p = 0; p < sweep.points && !known.empty(); ++p) {
    const auto found = known.find(models::point_values(sweep, p));
    if (found == known.end()) continue;
    rows.push_back(found->second);
    rows.back().point = p;
  }
  return rows;
}

/// Everything of a sweep that can be wrong before it begins.
struct PreparedSweep {
  models::Sweep sweep;
  reports::SweepHeader header;
  std::vector<reports::SweepRow> rows;  ///< of an earlier run
};
PreparedSweep prepare(const SweepOptions& options, bool first) {
  check_out(options.out);
  parse_part(options.part);
  if (!options.report.empty()) reports::require_report_library();
  const std::vector<std::string> objectives = reports::parse_objectives(options.pareto);
  const sim::PredictOptions predict = find_engine(options.engine);
  if (predict.engine == sim::Engine::Simgrid) sim::require_simgrid();  // and loads it once
  PreparedSweep p{read_sweep(options), {}, {}};
  p.header = reports::make_sweep_header(p.sweep, predict, normalised(options));
  p.header.pareto_of = objectives;
  if (first) p.rows = resumed_rows(options, p.sweep, p.header);
  return p;
}

/// Where rows and answers go.
struct SweepFiles {
  std::optional<reports::OutputFile> out, json, page;
};
SweepFiles open_files(const SweepOptions& options) {
  Outputs outputs(options.scenario);
  return {outputs.open(options.out), outputs.open(options.json), outputs.open(options.report)};
}

void write_files(const SweepOptions& options, const reports::SweepReport& report,
                 SweepFiles& files) {
  if (files.out && grows(options.out)) {
    // The finished one takes the journal's place.
    if (files.out->replaces()) files.out.emplace(options.out);
    files.out->write(sweep_jsonl(report));
  } else if (files.out) {
    files.out->write(sweep_csv(report));
  }
  if (files.json) files.json->write(sweep_json(report));
  if (files.page) files.page->write(sweep_report(report));
  for (auto* file : {&files.out, &files.json, &files.page}) {
    if (*file) (*file)->commit();
  }
}

int run_sweep(const SweepOptions& options) {
  const kernels::Communicator ranks = kernels::world_communicator();
  const bool first = ranks.rank() == 0;
  PreparedSweep p;
  std::optional<SweepFiles> files;
  const auto begin = [&] {
    p = prepare(options, first);
    if (first) files.emplace(open_files(options));
  };
  // mpirun ends them once the rank that says what is wrong has ended.
  if (!prepared_everywhere(ranks, begin)) return kDone;
  std::optional<reports::OutputFile> no_journal;
  SweepJournal journal(files && grows(options.out) ? files->out : no_journal, p.header);
  journal.begin(p.rows);
  auto rows = compute_rows(options, p.sweep, p.header, journal, ranks, std::move(p.rows));
  if (!first) return kDone;
  const reports::SweepReport report = reports::make_sweep_report(p.header, std::move(rows));
  write_files(options, report, *files);
  if (options.json != "-" && options.report != "-")
    print(sweep_text(report, reports::terminal_style()));
  const auto count = [&](reports::PointStatus status) {
    return std::count_if(report.rows.begin(), report.rows.end(),
                         [&](const auto& row) { return row.status == status; });
  };
  if (count(reports::PointStatus::Fits) > 0) return kDone;
  if (!options.part.empty()) return kDone;  // the whole has an answer, a part has rows
  const auto bad = count(reports::PointStatus::BadInput);
  return bad == static_cast<std::ptrdiff_t>(report.rows.size()) ? kBadInput : kAnswerIsNo;
}

}  // namespace

void add_sweep(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App& sweep =
      add_command(program, "sweep", "predict a scenario for lists of values", kSweepHelp);
  add_scenario(sweep, options->scenario);
  add_option(sweep, "--over", options->over,
             "values of a path; several are crossed. Commas in brackets\n"
             "belong to a value",
             {.value = "PATH=A,B,...", .required = true, .one_each = true});
  add_flag(sweep, "--zip", options->zip, "pair the lists instead of crossing them");
  add_option(sweep, "--where", options->where,
             "only points that meet a condition on their values,\n"
             "'tp*pp <= 8'; may be repeated",
             {.value = "CONDITION", .one_each = true});
  add_option(sweep, "--sample", options->sample,
             "only N points of the grid, drawn or as a Latin hypercube",
             {.value = "random:N|latin:N"});
  add_option(sweep, "--seed", options->seed, "of --sample; default 1", {.value = "N"});
  add_option(sweep, "--pareto", options->pareto,
             "front of two or three of time, cost, energy, memory,\n"
             "traffic, run-time, run-cost; default time,memory",
             {.value = "A,B[,C]"});
  add_set_option(sweep, options->set);
  add_engine_options(sweep, options->engine);
  add_option(sweep, "--jobs", options->jobs, "processes at a time; default one for each core",
             {.value = "N", .least = 1, .most = 1024});
  add_option(sweep, "--out", options->out, "also write every row, as CSV or JSON lines",
             {.value = "FILE.csv|.jsonl"});
  add_json_option(sweep, options->json);
  add_option(sweep, "--report", options->report, "also write one HTML page to read and send",
             {.value = "FILE"});
  add_option(sweep, "--resume", options->resume,
             "take over the rows of such a FILE.jsonl; may be\n"
             "repeated",
             {.value = "FILE", .one_each = true});
  add_option(sweep, "--part", options->part,
             "every N-th point from the K-th (from 0) on, and those\n"
             "of --resume",
             {.value = "K/N"});
  on_call(sweep, [options, &exit_code] { exit_code = run_sweep(*options); });
}

}  // namespace paceline::cli
