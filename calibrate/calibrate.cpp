// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrate.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/text.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {
namespace {

using models::Precision;

// Without a measurement: see models/hardware/profile.hpp and docs/validation.md.
constexpr double kDeviceLaunch = 3e-6;
constexpr double kLeastFraction = 0.01, kLeastMemory = 0.05;
constexpr double kLeastBand = 0.01;

struct Fits {
  RoofFit roof;
  LaunchFit launch;
  GemmFit gemm;
  AttentionFit attention;
  KernelFit kernels;
  CopyFit copies;
  CollectiveFit collectives;
  OverlapFit overlap;
};

bool is_device(const Inputs& inputs) { return inputs.machine.backend != "cpu"; }

/// "samples.jsonl and log.txt, 2026-01-31T12:00:00Z to 2026-01-31T12:20:00Z".
std::string source_of(const Inputs& inputs) {
  std::string files, first, last;
  for (const models::ProfileInput& file : inputs.files) {
    files += (files.empty() ? "" : ", ") + file.file;
    if (!file.first.empty() && (first.empty() || file.first < first)) first = file.first;
    if (file.last > last) last = file.last;
  }
  return "measured: " + files + (first.empty() ? "" : ", " + first + " to " + last);
}

/// Samples whose curve is not asked for are as if they had not been measured.
bool without(const CalibrateOptions& options, const base::Sample& sample) {
  return std::find(options.without.begin(), options.without.end(), sample.kernel) !=
         options.without.end();
}

std::vector<Measured> wanted(const Inputs& inputs, const CalibrateOptions& options) {
  for (const std::string& kernel : options.without) models::kernel_kind(kernel, "--without");
  std::vector<Measured> samples;
  for (const Measured& m : inputs.samples)
    if (!without(options, m.sample)) samples.push_back(m);
  return samples;
}

/// A share of a data-sheet rate; notes and errors where the two contradict.
double share_of(double measured, double sheet, double least, const std::string& what,
                const models::Device& device, std::vector<std::string>& notes) {
  const double share = measured / sheet;
  if (share < least)
    throw base::Error("calibrate",
                      what + " reaches " + base::format_percent(share) + " of what " + device.name +
                          " is said to do",
                      "are these samples of another device? --device names the right one");
  if (share > 1)
    notes.push_back(what + " is " + base::format_fixed(share, 2) + " times that of " + device.name +
                    ": taken as all of it");
  return std::min(share, 1.0);
}

/// A device of the measured rates, for machines without a data sheet.
models::Device own_device(const Inputs& inputs, const Fits& fits, const CalibrateOptions& options) {
  models::Device device;
  device.name = options.device_name;
  device.summary = base::one_line(inputs.machine.device);
  device.generation = "cpu";
  for (std::size_t p = 0; p < fits.gemm.law.size(); ++p)
    device.matrix_rate[p] =
        base::FlopsPerSecond(std::max(fits.gemm.law[p].rate, fits.gemm.law[p].best));
  const double best = std::max_element(device.matrix_rate.begin(), device.matrix_rate.end())->value;
  const auto fp32 = device.matrix_rate[static_cast<std::size_t>(Precision::Fp32)];
  device.vector_rate = fp32.value > 0 ? fp32 : base::FlopsPerSecond(best);
  device.multiprocessors = inputs.machine.units;
  device.memory = inputs.machine.memory;
  if (!fits.roof.rate)
    throw base::Error("calibrate", "no memory bandwidth: a device without a data sheet needs it",
                      "measure triad or copy-d2d too");
  device.memory_bandwidth = base::BytesPerSecond(*fits.roof.rate);
  device.host_bandwidth =
      fits.copies.to_device ? fits.copies.to_device->rate : device.memory_bandwidth;
  return device;
}

void set_gemm(const Inputs& inputs, const Fits& fits, Calibration& out) {
  const std::string source = source_of(inputs);
  std::optional<std::size_t> any;
  for (const auto& [name, precision] : models::kPrecisions) {
    const auto p = static_cast<std::size_t>(precision);
    const GemmFit::Law& law = fits.gemm.law[p];
    if (law.rate <= 0) continue;
    const double sheet = out.device.matrix_rate[p].value;
    if (sheet <= 0)
      throw base::Error("calibrate",
                        "samples of " + std::string(name) + " products, but " + out.device.name +
                            " has no " + std::string(name) + " units",
                        "are these samples of another device? --device names the right one");
    out.profile.gemm[p] = {share_of(law.rate, sheet, kLeastFraction, "gemm " + std::string(name),
                                    out.device, out.notes),
                           base::Seconds(law.wave), source};
    any = p;
  }
  if (!any) return;
  // As in the profiles of data sheets: what was not measured runs like what was.
  for (std::size_t p = 0; p < out.profile.gemm.size(); ++p) {
    if (!out.profile.gemm[p].source.empty() || out.device.matrix_rate[p].value <= 0) continue;
    out.profile.gemm[p] = out.profile.gemm[*any];
    out.profile.gemm[p].source =
        "assumed as " + std::string(to_text(static_cast<Precision>(*any))) + ": not measured";
  }
  out.profile.overlap_loss = fits.gemm.loss;
  out.profile.gemm_tile = fits.gemm.tile;
  if (fits.gemm.batched) out.profile.batched_gemm = *fits.gemm.batched;
  if (fits.gemm.unaligned) out.profile.unaligned_gemm = *fits.gemm.unaligned;
  if (is_device(inputs)) return;
  // No tensor cores to fall off, and nothing else was measured of batches.
  out.profile.unaligned_gemm = 1;
  if (!fits.gemm.batched) out.profile.batched_gemm = 1;
}

Fits fit_all(const Inputs& inputs, const std::vector<Measured>& samples,
             const CalibrateOptions& options) {
  Fits fits;
  fits.roof = fit_roof(samples);
  fits.launch = fit_launch(samples);
  GemmSettings settings;
  settings.units = options.device ? options.device->multiprocessors : inputs.machine.units;
  settings.tensor_cores = is_device(inputs);
  // Without a roof and a sheet there is no device either, see own_device.
  const double sheet =
      options.device ? options.device->memory_bandwidth.value * models::Profile().memory_efficiency
                     : 1e10;
  settings.memory = fits.roof.rate.value_or(sheet);
  settings.launch = fits.launch.seconds.value_or(is_device(inputs) ? kDeviceLaunch : 0);
  fits.gemm = fit_gemm(samples, settings);
  fits.attention = fit_attention(samples, settings.launch);
  fits.kernels = fit_kernels(samples);
  fits.copies = fit_copies(samples);
  fits.collectives = fit_collectives(samples, inputs.logs);
  fits.overlap = fit_overlap(samples);
  return fits;
}

void collect_reports(const Fits& fits, Calibration& out) {
  for (const auto* reports : {&fits.gemm.reports, &fits.attention.reports, &fits.roof.reports,
                              &fits.launch.reports, &fits.kernels.reports, &fits.copies.reports,
                              &fits.collectives.reports, &fits.overlap.reports})
    out.reports.insert(out.reports.end(), reports->begin(), reports->end());
  out.notes.insert(out.notes.end(), fits.attention.notes.begin(), fits.attention.notes.end());
}

/// Two thirds of the left-out samples lie inside it: one standard deviation of a kernel's time. A
/// profile that keeps the products of its base is no surer than that.
double band_of(const std::vector<CurveReport>& reports, double before, bool keeps_products) {
  std::vector<double> errors;
  for (const CurveReport& r : reports)
    errors.insert(errors.end(), r.held_errors.begin(), r.held_errors.end());
  if (errors.empty()) return before;
  const double band = std::clamp(quantile(std::move(errors), 0.68), kLeastBand, 1.0);
  return keeps_products ? std::max(band, before) : band;
}

/// What was not measured, and what stands for it.
void note_missing(const Fits& fits, const CalibrateOptions& options, Calibration& out) {
  const std::string kept =
      options.base ? "; that of " + base::quote(options.base->name) + " stays" : "";
  if (!fits.roof.rate)
    out.notes.push_back("memory roof: neither triad nor copy-d2d was measured" + kept);
  if (!fits.launch.seconds)
    out.notes.push_back("launch was not measured: " + base::format_seconds(out.profile.launch) +
                        kept);
}

void set_measured(const Inputs& inputs, const std::vector<Measured>& samples, Fits& fits,
                  Calibration& out) {
  models::Profile& p = out.profile;
  if (fits.roof.rate)
    p.memory_efficiency = share_of(*fits.roof.rate, out.device.memory_bandwidth.value, kLeastMemory,
                                   "memory", out.device, out.notes);
  if (fits.launch.seconds) p.launch = base::Seconds(*fits.launch.seconds);
  for (const models::AttentionCurve& curve : fits.attention.curves)
    std::erase_if(p.attention,
                  [&](const models::AttentionCurve& c) { return c.kernel == curve.kernel; });
  for (models::AttentionCurve& curve : fits.attention.curves) {
    curve.source = source_of(inputs);
    p.attention.push_back(std::move(curve));
  }
  if (!fits.kernels.curves.empty()) p.kernels = std::move(fits.kernels.curves);
  if (fits.copies.to_device) p.to_device = fits.copies.to_device;
  if (fits.copies.to_host) p.to_host = fits.copies.to_host;
  if (fits.overlap.slowdown) p.overlap_slowdown = fits.overlap.slowdown;
  if (!fits.collectives.curves.empty()) p.collectives = std::move(fits.collectives.curves);
  if (auto power = fit_power(samples); !power.empty()) p.power = std::move(power);
}

}  // namespace

bool Calibration::accepted() const {
  return std::all_of(reports.begin(), reports.end(),
                     [](const CurveReport& r) { return r.passed(); });
}

Calibration calibrate(const Inputs& inputs, const CalibrateOptions& options) {
  Calibration out;
  out.notes = inputs.notes;
  out.machine = inputs.machine;
  const std::vector<Measured> samples = wanted(inputs, options);
  if (samples.empty() && inputs.logs.empty())
    throw base::Error("calibrate", "no sample is left to fit anything to",
                      inputs.samples.empty() ? "measure on an idle machine, or say --busy" : "");
  Fits fits = fit_all(inputs, samples, options);
  const bool products = std::any_of(fits.gemm.law.begin(), fits.gemm.law.end(),
                                    [](const GemmFit::Law& law) { return law.rate > 0; });
  if (!products && !(options.base && options.device))
    throw base::Error("calibrate", "no samples of gemm: a profile of these could time no layer",
                      options.device
                          ? "measure gemm too, or name a profile to start from with --base"
                          : "measure gemm too");
  out.own_device = !options.device;
  if (out.own_device && is_device(inputs))
    throw base::Error("calibrate", "no data sheet of " + base::quote(inputs.machine.device),
                      "name it with --device");
  out.device = options.device ? *options.device : own_device(inputs, fits, options);
  if (options.base)
    out.profile = *options.base;
  else
    out.profile.launch = base::Seconds(is_device(inputs) ? kDeviceLaunch : 0);
  out.profile.name = options.name;
  out.profile.device = out.device.name;
  out.profile.source = source_of(inputs);
  out.profile.inputs = inputs.files;
  set_gemm(inputs, fits, out);
  collect_reports(fits, out);
  set_measured(inputs, samples, fits, out);
  out.profile.residual = band_of(out.reports, out.profile.residual, !products);
  note_missing(fits, options, out);
  out.profile_text = models::profile_json(out.profile);
  models::read_profile(base::parse_json(out.profile_text, options.name + ".json"));
  return out;
}

models::Device device_of(const base::Machine& machine) {
  std::vector<models::Device> found;
  std::string names;
  for (const std::string& name : models::spec_names("device")) {
    models::Device device = models::read_device(name);
    if (device.summary.find(machine.device) == std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + name;
    found.push_back(std::move(device));
  }
  if (found.size() == 1) return std::move(found.front());
  const std::string what = "no device spec names " + base::quote(machine.device);
  throw base::Error("calibrate", found.empty() ? what : "several device specs do: " + names,
                    "say which with --device NAME (`paceline list devices`)");
}

}  // namespace paceline::calibrate
