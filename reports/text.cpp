// SPDX-License-Identifier: Apache-2.0
#include "reports/text.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "reports/energy.hpp"
#include "reports/names.hpp"
#include "reports/network.hpp"
#include "reports/outer.hpp"
#include "reports/outlook.hpp"
#include "reports/staleness.hpp"

namespace paceline::reports {

namespace {

using base::Bytes;
using base::Seconds;
using Lines = std::vector<std::string>;

constexpr int kLabel = 11;  ///< columns of the labels on the left

std::string bytes(double value) { return base::format_bytes(Bytes(value)); }
std::string seconds(double value) { return base::format_seconds(Seconds(value)); }

/// "1.40 PFLOP".
std::string flops_text(double flops) {
  if (flops >= 1e18) return base::format_fixed(flops / 1e18, 2) + " EFLOP";
  if (flops >= 1e15) return base::format_fixed(flops / 1e15, 2) + " PFLOP";
  return base::format_fixed(flops / 1e12, 2) + " TFLOP";
}

void labelled(Lines& lines, std::string_view label, std::string_view text, const TextStyle& style) {
  bool first = true;
  for (const std::string& line : wrap(text, style.width - kLabel)) {
    lines.push_back(
        (first ? paint(pad_right(label, kLabel), Ink::Dim, style) : std::string(kLabel, ' ')) +
        line);
    first = false;
  }
}

/// Each on lines of its own below one label.
void labelled_lines(Lines& lines, std::string_view label, const Lines& texts,
                    const TextStyle& style) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    labelled(lines, i == 0 ? label : "", texts[i], style);
}

/// Nothing for the usual dispatch.
std::string dispatch_text(const models::DispatchOptions& dispatch) {
  if (dispatch.policy == models::Dispatch::Fixed) return "";
  return " with ready dispatch (" +
         (dispatch.buffers == 0 ? std::string("any number of buffers")
                                : std::to_string(dispatch.buffers) + " buffers") +
         (dispatch.coordination.value > 0
              ? ", " + base::format_seconds(dispatch.coordination) + " a choice"
              : "") +
         ")";
}

void heading(Lines& lines, const Answer& a, const TextStyle& style) {
  lines.push_back(paint(cut(printable(a.scenario), style.width), Ink::Bold, style));
  labelled(lines, "model",
           printable(a.model) + ", " + base::format_count(static_cast<double>(a.parameters)) +
               " parameters",
           style);
  labelled(lines, "machine", printable(a.machine) + ", " + std::to_string(a.devices) + " devices",
           style);
  labelled(lines, "layout", describe_layout(a.parallel, a.schedule), style);
  const std::int64_t replica = a.batch.micro * a.parallel.dp;
  const std::int64_t microbatches = replica > 0 ? a.batch.global / replica : 0;
  labelled(lines, "step",
           a.schedule.name + dispatch_text(a.schedule.dispatch) + ", " +
               std::to_string(a.batch.global) + " sequences of " +
               std::to_string(a.batch.sequence) + " tokens in " + std::to_string(microbatches) +
               (microbatches == 1 ? " microbatch" : " microbatches") + " of " +
               std::to_string(a.batch.micro) + " per replica",
           style);
  labelled(lines, "numerics",
           a.precision + ", attention " + printable(a.attention) + ", recompute " + a.recompute +
               ", " + a.optimizer,
           style);
  lines.emplace_back();
}

void speed(Lines& lines, const Answer& a, const TextStyle& style) {
  const sim::Result& r = a.result;
  lines.push_back(paint("Step time  " + seconds(r.step_time), Ink::Bold, style) + "   (band " +
                  seconds(r.step_time_low) + " to " + seconds(r.step_time_high) + ")");
  const std::string indent(kLabel, ' ');
  lines.push_back(indent + base::format_count(r.tokens_per_s) + " tokens/s, " +
                  base::format_fixed(r.samples_per_s, 2) + " samples/s");
  lines.push_back(indent + "MFU " + base::format_percent(r.mfu) + ", HFU " +
                  base::format_percent(r.hfu) + ", " + flops_text(r.model_flops) +
                  " of model per step");
  if (r.run_tokens > 0) {
    constexpr double kDay = 86400, kHour = 3600;
    lines.push_back(indent + base::format_count(r.run_tokens) + " tokens take " +
                    base::format_fixed(r.run_seconds / kDay, 1) + " days, " +
                    base::format_count(r.run_device_seconds / kHour) +
                    " device-hours, without failures and checkpoints");
  }
  for (const sim::PhaseResult& phase : r.phases)
    lines.push_back(indent + "steps " + std::to_string(phase.first_step) + " to " +
                    std::to_string(phase.last_step) + ": " + seconds(phase.step_seconds));
  lines.emplace_back();
}

/// "1.93 s (1.92 s to 1.94 s)"; "(1.92 s or more)" where a bound is missing.
std::string estimate_text(const sim::Estimate& e) {
  const std::string value = seconds(e.value);
  if (e.low && e.high) return value + " (" + seconds(*e.low) + " to " + seconds(*e.high) + ")";
  if (e.low) return value + " (" + seconds(*e.low) + " or more)";
  if (e.high) return value + " (" + seconds(*e.high) + " or less)";
  return value;
}

/// Steps under jitter, beside an answer without it; or of sampled documents or samples, whose mean
/// is the answer.
void distribution(Lines& lines, const Answer& a, const sim::StepDistribution& d,
                  const TextStyle& style) {
  const bool lengths = a.batch.documents || a.batch.samples;
  const std::string steps =
      std::to_string(d.repetitions) + (d.repetitions == 1 ? " step" : " steps") +
      (lengths ? " sampled" : " with jitter") + ", seed " + std::to_string(d.seed);
  lines.push_back(paint(lengths ? "Lengths    " : "Jitter     ", Ink::Bold, style) + "mean " +
                  estimate_text(d.mean) + ", " + steps);
  const std::string indent(kLabel, ' ');
  for (const auto& [name, e] : {std::pair{"p50", &d.p50}, {"p95", &d.p95}, {"p99", &d.p99}})
    lines.push_back(indent + name + "  " + estimate_text(*e));
  lines.push_back(indent + "in brackets: 95 % confidence" +
                  (lengths ? "" : "; everything else here is without jitter"));
  lines.emplace_back();
}

void time_table(Lines& lines, const Answer& a, const TextStyle& style) {
  const sim::Result& r = a.result;
  const auto names = part_keys();
  std::string who;
  for (std::size_t i = 0; i < a.classes.size(); ++i) {
    if (r.memory[i].lane == r.critical_lane) who = " on " + to_text(a.classes[i]);
  }
  lines.push_back(paint(cut("Where the time goes" + who, style.width), Ink::Bold, style));
  for (std::size_t p = 0; p < names.size(); ++p) {
    const double share = r.step_time > 0 ? r.breakdown[p] / r.step_time : 0;
    if (r.breakdown[p] == 0) continue;
    const bool useful = static_cast<sim::Part>(p) == sim::Part::Compute;
    lines.push_back(
        "  " + pad_right(title_name(names[p]), 14) + pad_left(seconds(r.breakdown[p]), 10) +
        pad_left(base::format_percent(share), 9) + "  " +
        paint(bar(share, style.width - 37, style), useful ? Ink::Green : Ink::Yellow, style));
  }
  lines.push_back("  " + pad_right("step", 14) + pad_left(seconds(r.step_time), 10) +
                  pad_left(base::format_percent(1), 9) + "  idle compute " +
                  base::format_percent(r.bubble_makespan) + " of makespan, " +
                  base::format_percent(r.bubble_longest_stage) + " of longest stage");
  lines.emplace_back();
}

/// "parameters 12.3 GiB", largest first.
Lines memory_parts(const sim::MemoryPeak& peak) {
  const auto names = memory_part_keys();
  std::vector<std::pair<double, std::string>> parts;
  double sum = 0;
  for (std::size_t p = 0; p < names.size(); ++p) {
    sum += peak.parts[p];
    if (peak.parts[p] != 0) parts.emplace_back(peak.parts[p], title_name(names[p]));
  }
  // What the allocator holds beyond what was asked for, when it is not a part already.
  const double rest = peak.reserved_bytes - sum;
  if (rest > 0.5e6) parts.emplace_back(rest, "allocator");
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  Lines out;
  for (const auto& [size, name] : parts) {
    out.push_back(pad_right(name, 16) + pad_left(bytes(size), 10));
  }
  return out;
}

void in_columns(Lines& lines, const Lines& cells, const TextStyle& style) {
  constexpr int kCell = 31;
  const auto across = static_cast<std::size_t>(std::max(1, (style.width - 2) / kCell));
  for (std::size_t i = 0; i < cells.size(); i += across) {
    std::string line = "  ";
    for (std::size_t j = i; j < std::min(i + across, cells.size()); ++j) {
      line += j + 1 == std::min(i + across, cells.size()) ? cells[j] : pad_right(cells[j], kCell);
    }
    lines.push_back(line);
  }
}

/// The other classes on one line: how full the emptiest and the rest are.
std::string other_classes(const Answer& a, std::size_t shown) {
  const auto& memory = a.result.memory;
  const sim::MemoryPeak *low = nullptr, *high = nullptr;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (i == shown) continue;
    if (low == nullptr || memory[i].reserved_bytes < low->reserved_bytes) low = &memory[i];
    if (high == nullptr || memory[i].reserved_bytes > high->reserved_bytes) high = &memory[i];
  }
  const auto name = [&](const sim::MemoryPeak* p) {
    return to_text(a.classes[static_cast<std::size_t>(p - memory.data())]);
  };
  std::string out = "the other";
  if (memory.size() == 2) {
    return out + " rank class: " + bytes(low->reserved_bytes) + " on " + name(low);
  }
  return out + " " + std::to_string(memory.size() - 1) +
         " rank classes: " + bytes(low->reserved_bytes) + " (" + name(low) + ") to " +
         bytes(high->reserved_bytes);
}

std::string verdict(const sim::MemoryPeak& peak, const RankClass& who, const TextStyle& style) {
  const std::string sizes = bytes(peak.reserved_bytes) + " of " + bytes(peak.capacity_bytes) +
                            " (" + base::format_percent(peak.reserved_bytes / peak.capacity_bytes) +
                            ")";
  if (!peak.fits()) {
    return paint("DOES NOT FIT", Ink::Red, style) + ": rank " +
           std::to_string(peak.representative) + " needs " + sizes + " at " +
           seconds(peak.at_seconds) + (who.at.empty() ? "" : ", in " + who.at);
  }
  return (peak.nearly_full() ? paint("fits, nearly full", Ink::Yellow, style)
                             : paint("fits", Ink::Green, style)) +
         ": " + sizes + ", peak at " + seconds(peak.at_seconds) +
         (who.at.empty() ? "" : " in " + who.at);
}

void memory(Lines& lines, const Answer& a, const TextStyle& style) {
  const sim::MemoryPeak* peak = fullest(a.result);
  if (peak == nullptr) return;
  const auto index = static_cast<std::size_t>(peak - a.result.memory.data());
  lines.push_back(paint("Memory     ", Ink::Bold, style) + verdict(*peak, a.classes[index], style));
  const std::string indent(kLabel, ' ');
  lines.push_back(indent + cut("fullest: " + to_text(a.classes[index]), style.width - kLabel));
  in_columns(lines, memory_parts(*peak), style);
  if (peak->host_bytes > 0)
    lines.push_back(indent + "beside it " + bytes(peak->host_bytes) +
                    " of this rank in host memory or on drives");
  if (a.result.memory.size() > 1) {
    lines.push_back("  " + cut(other_classes(a, index), style.width - 2));
  }
  lines.emplace_back();
}

void traffic(Lines& lines, const Answer& a, const TextStyle& style) {
  const auto names = stream_keys();
  std::string text;
  for (std::size_t s = 0; s < names.size(); ++s) {
    const double sent = a.result.traffic_bytes[s];
    if (sent != 0) text += (text.empty() ? "" : ", ") + title_name(names[s]) + " " + bytes(sent);
  }
  labelled(lines, "Traffic", text.empty() ? "none" : text + " sent per step by all ranks", style);
}

/// Items that fit in `room` lines; the last line tells of the rest.
void bounded_list(Lines& lines, const std::vector<std::string>& items, int room,
                  const std::string& more, const TextStyle& style) {
  Lines out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Lines wrapped = wrap(printable(items[i]), style.width - 4);
    const bool last = i + 1 == items.size();
    if (static_cast<int>(out.size() + wrapped.size()) > room - (last ? 0 : 1)) {
      out.push_back("  ... and " + std::to_string(items.size() - i) + " more: " + more);
      break;
    }
    for (std::size_t j = 0; j < wrapped.size(); ++j) {
      out.push_back((j == 0 ? "  - " : "    ") + wrapped[j]);
    }
  }
  lines.insert(lines.end(), out.begin(), out.end());
}

Lines footer(const Answer& a, const TextStyle& style) {
  Lines lines;
  lines.emplace_back();
  // Never wrapped: a command must survive copying.
  lines.push_back(paint("Reproduce  ", Ink::Dim, style) + printable(a.command));
  std::string profiles;
  for (const std::string& name : a.profiles) profiles += (profiles.empty() ? "" : "+") + name;
  labelled(lines, "",
           "paceline " + a.version + ", scenario " + a.hash + ", profile " +
               (profiles.empty() ? "none" : profiles) + ", stack " +
               (a.stack.empty() ? "none" : a.stack) + ", engine " + a.result.engine +
               (a.result.fidelity.empty() ? "" : ", fidelity " + a.result.fidelity) +
               (a.result.distribution ? ", seed " + std::to_string(a.result.distribution->seed)
                : a.result.outlook    ? ", seed " + std::to_string(a.result.outlook->seed)
                                      : std::string(", nothing random")),
           style);
  return lines;
}

void notes(Lines& lines, const Answer& a, int room, const TextStyle& style) {
  const auto& warnings = a.result.warnings;
  const auto& assumptions = a.result.assumptions;
  const std::string all = "paceline check " + shell_word(a.file);
  if (!warnings.empty()) {
    const int before = static_cast<int>(lines.size());
    lines.push_back(paint("Warnings", Ink::Yellow, style));
    bounded_list(lines, warnings, std::max(2, room - (assumptions.empty() ? 1 : 4)), "see --json",
                 style);
    room -= static_cast<int>(lines.size()) - before;
  }
  if (assumptions.empty()) return;
  lines.push_back(paint("Assumptions", Ink::Bold, style));
  bounded_list(lines, assumptions, std::max(2, room - 1), all, style);
}

/// "40 of 40 pieces of 10.0 ms in the idle time of a pipeline, step time unchanged".
std::string foreign_text(const sim::ForeignDone& f) {
  return std::to_string(f.done) + " of " + std::to_string(f.pieces) +
         (f.pieces == 1 ? " piece of " : " pieces of ") + seconds(f.piece_seconds) +
         " in the idle time of a pipeline, step time unchanged" +
         (f.done < f.pieces ? "; the rest fits nowhere and is not done" : "");
}

/// "ring", "usp 8, contiguous".
std::string context_words(const models::ContextChoice& c) {
  std::string out(c.method->name);
  if (c.method->traits.inner) out += " " + std::to_string(c.inner);
  if (c.method->traits.chunks) out += " " + std::to_string(c.chunks);
  const bool usual = c.order->name == "zigzag" || c.method->traits.contiguous;
  return usual ? out : out + ", " + std::string(c.order->name);
}

}  // namespace

std::string describe_layout(const models::Parallel& p, const models::ScheduleChoice& schedule) {
  std::string out = "tp " + std::to_string(p.tp);
  if (p.sequence_parallel) out += " + sequence parallel";
  out += ", pp " + std::to_string(p.pp);
  if (schedule.chunks > 1) out += " x " + std::to_string(schedule.chunks) + " chunks";
  if (p.cp > 1) out += ", cp " + std::to_string(p.cp) + " (" + context_words(p.context) + ")";
  out += ", dp " + std::to_string(p.dp);
  if (p.ep > 1) out += ", ep " + std::to_string(p.ep) + ", etp " + std::to_string(p.etp);
  out += ", zero " + std::to_string(p.zero);
  if (p.shard > 0) out += " over " + std::to_string(p.shard) + " ranks";
  std::string order;
  for (const std::string& axis : p.order) order += (order.empty() ? "" : "-") + axis;
  return out + "; order " + order;
}

std::string to_text(const Answer& answer, const TextStyle& style) {
  Lines lines;
  heading(lines, answer, style);
  speed(lines, answer, style);
  if (answer.result.distribution) distribution(lines, answer, *answer.result.distribution, style);
  time_table(lines, answer, style);
  memory(lines, answer, style);
  traffic(lines, answer, style);
  if (answer.result.outer)
    labelled_lines(lines, "Workers", outer_lines(*answer.result.outer), style);
  labelled_lines(lines, "Energy", energy_lines(answer.result), style);
  labelled_lines(lines, "Cost", cost_lines(answer.result), style);
  if (answer.result.outlook)
    labelled_lines(lines, "Failures",
                   outlook_lines(*answer.result.outlook, style,
                                 answer.result.money ? answer.result.money->hours_a_day : 24),
                   style);
  if (answer.result.foreign)
    labelled(lines, "Foreign", foreign_text(*answer.result.foreign), style);
  if (answer.result.staleness)
    labelled(lines, "Staleness", describe(*answer.result.staleness), style);
  if (answer.result.network) {
    const Lines more = network_lines(*answer.result.network, answer.result.step_time, style);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  const Lines end = footer(answer, style);
  notes(lines, answer, kScreenLines - static_cast<int>(lines.size() + end.size()), style);
  lines.insert(lines.end(), end.begin(), end.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace paceline::reports
