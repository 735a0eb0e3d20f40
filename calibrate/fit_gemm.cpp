// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"
#include "models/workload/kernel_calls.hpp"

namespace paceline::calibrate {
namespace {

using models::Op;
using models::OpKind;
using models::Precision;

constexpr int kFolds = 5;
constexpr double kTile = 128.0 * 256.0;  // of the law, models/cost/kernel.cpp
/// Edges of tiles of a processor's library over the law's: register blocks are tens of elements.
constexpr std::array<double, 6> kTileScales{1, 0.5, 0.25, 0.125, 0.0625, 0.03125};
// Before any measurement: a wave's fixed time is a few microseconds on devices of every generation,
// 16 more steps of k on a processor; a third of the smaller of compute and memory time is exposed.
constexpr double kWaveGuess = 3e-6, kPrologueGuess = 16, kWaveSigma = 2;
constexpr double kLossGuess = 0.3, kLossSigma = 0.3;

struct Product {
  Op op;
  double seconds = 0;
  std::string label;
  bool aligned = true;
};

bool multiple_of_8(double x) { return std::fmod(x, 8.0) == 0; }

/// As kernel_time has it: the contiguous dimensions of the weight.
bool is_aligned(const Op& op) {
  if (op.kind == OpKind::BatchedGemm)
    return multiple_of_8(op.m) && multiple_of_8(op.n) && multiple_of_8(op.k);
  return multiple_of_8(op.n) && multiple_of_8(op.phase == models::Phase::Weight ? op.m : op.k);
}

std::vector<Product> products_of(const std::vector<Measured>& samples) {
  std::vector<Product> products;
  for (const Measured& m : samples) {
    const base::Sample& s = m.sample;
    if (models::kernel_kind(s.kernel).law != models::KernelLaw::Gemm || !s.beside.empty()) continue;
    const std::optional<Precision> precision = models::precision_named(s.type);
    if (!precision)
      throw base::Error(m.where + ": type", "no matrix product of " + s.type + " is known",
                        "one of fp32, fp16, bf16, fp8-e4m3, fp8-e5m2");
    const std::optional<Op> op = models::matrix_op(s.kernel, s.pass, *precision, s.extents);
    if (!op)
      throw base::Error(m.where + ": pass", "'" + s.pass + "' is no pass of " + s.kernel,
                        "one of forward, input-gradient, weight-gradient");
    products.push_back({*op, s.median.value, sample_label(s), is_aligned(*op)});
  }
  // Sorted by work, so that every fold has small and large ones.
  std::stable_sort(products.begin(), products.end(), [](const Product& a, const Product& b) {
    return a.op.m * a.op.n * a.op.k * a.op.count < b.op.m * b.op.n * b.op.k * b.op.count;
  });
  return products;
}

double flops(const Op& op) { return 2 * op.m * op.n * op.k * op.count; }

/// The constants as numbers that may be anything: logarithms, then the loss.
struct Unknowns {
  std::vector<Precision> precisions;
  std::vector<double> start;
  std::vector<Prior> priors;

  void write(const std::vector<double>& values, GemmFit& fit) const {
    for (std::size_t i = 0; i < precisions.size(); ++i) {
      GemmFit::Law& law = fit.law[static_cast<std::size_t>(precisions[i])];
      law.rate = std::exp(values[2 * i]);
      law.wave = std::exp(values[2 * i + 1]);
    }
    fit.loss = std::clamp(values.back(), 0.0, 1.0);
  }
};

Unknowns unknowns_of(const std::vector<Product>& products, const GemmFit& fit,
                     const GemmSettings& settings) {
  Unknowns u;
  for (std::size_t p = 0; p < fit.law.size(); ++p) {
    const auto precision = static_cast<Precision>(p);
    const bool any = std::any_of(products.begin(), products.end(), [&](const Product& product) {
      return product.op.precision == precision;
    });
    if (!any) continue;
    u.precisions.push_back(precision);
    const double rate = std::log(fit.law[p].best);
    const double wave = settings.tensor_cores ? kWaveGuess
                                              : 2 * kTile * fit.tile * fit.tile * kPrologueGuess *
                                                    settings.units / fit.law[p].best;
    u.start.insert(u.start.end(), {rate, std::log(wave)});
    // The fastest sample is close to what the law gives for large products.
    u.priors.push_back({rate, 0.5});
    u.priors.push_back({std::log(wave), kWaveSigma});
  }
  u.start.push_back(kLossGuess);
  u.priors.push_back({kLossGuess, kLossSigma});
  return u;
}

double predicted(const GemmFit& fit, const GemmSettings& settings, const Op& op) {
  return models::kernel_time(gemm_model(fit, settings), op).value;
}

/// Fits rate, wave and loss of `fit` to the products; true where there are any.
bool fit_law(const std::vector<Product>& products, const GemmSettings& settings, GemmFit& fit) {
  if (products.empty()) return false;
  const Unknowns u = unknowns_of(products, fit, settings);
  const auto residuals = [&](const std::vector<double>& values) {
    GemmFit trial = fit;
    u.write(values, trial);
    const models::KernelModel model = gemm_model(trial, settings);
    std::vector<double> out;
    for (const Product& p : products)
      out.push_back(std::log(models::kernel_time(model, p.op).value / p.seconds));
    return out;
  };
  u.write(fit_robust(u.start, u.priors, residuals).parameters, fit);
  return true;
}

/// What fits without each fold say to it; nothing with too few products.
std::vector<std::optional<double>> held_out(const std::vector<Product>& products,
                                            const GemmSettings& settings, const GemmFit& fit) {
  std::vector<std::optional<double>> predictions(products.size());
  const auto n = products.size();
  if (n < 2 * kFolds) return predictions;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<Product> others;
    for (std::size_t i = 0; i < n; ++i)
      if (i % kFolds != fold) others.push_back(products[i]);
    GemmFit trial = fit;
    fit_law(others, settings, trial);
    for (std::size_t i = fold; i < n; i += kFolds)
      if (trial.law[static_cast<std::size_t>(products[i].op.precision)].rate > 0)
        predictions[i] = predicted(trial, settings, products[i].op);
  }
  return predictions;
}

double median_error(const std::vector<Product>& products, const GemmSettings& settings,
                    const GemmFit& fit, const std::vector<std::optional<double>>& held) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < products.size(); ++i)
    errors.push_back(symmetric_error(held[i].value_or(predicted(fit, settings, products[i].op)),
                                     products[i].seconds));
  return median(std::move(errors));
}

/// Tiles as the law has them on devices; on processors the scale that predicts left-out products
/// best.
void fit_tiles_and_law(const std::vector<Product>& products, const GemmSettings& settings,
                       GemmFit& fit) {
  double least = std::numeric_limits<double>::infinity();
  GemmFit best = fit;
  for (const double scale : kTileScales) {
    GemmFit trial = fit;
    trial.tile = scale;
    fit_law(products, settings, trial);
    const double error =
        median_error(products, settings, trial, held_out(products, settings, trial));
    if (error < least) {
      least = error;
      best = trial;
    }
    if (settings.tensor_cores) break;
  }
  fit = best;
}

/// A rate over that of plain products, from products of which only it is not known.
double fit_fraction(const std::vector<Product>& products, const GemmSettings& settings, GemmFit fit,
                    std::optional<double> GemmFit::*which) {
  double best = 1, least = std::numeric_limits<double>::infinity();
  for (double step = 0; step <= 400; ++step) {  // 1 … 0.001 in steps of 1.7 %
    fit.*which = std::exp(-step * std::log(1000.0) / 400);
    const models::KernelModel model = gemm_model(fit, settings);
    std::vector<double> sizes;
    for (const Product& p : products)
      sizes.push_back(std::abs(std::log(models::kernel_time(model, p.op).value / p.seconds)));
    // The median alone is flat between two products: the mean of the better half decides.
    std::sort(sizes.begin(), sizes.end());
    double loss = 0;
    for (std::size_t i = 0; i <= sizes.size() / 2 && i < sizes.size(); ++i) loss += sizes[i];
    if (loss < least - 1e-12) {
      least = loss;
      best = *(fit.*which);
    }
  }
  return best;
}

std::string rate_text(double flops_per_s) {
  return flops_per_s < 1e12 ? base::format_fixed(flops_per_s / 1e9, 1) + " GFLOP/s"
                            : base::format_fixed(flops_per_s / 1e12, 1) + " TFLOP/s";
}

void report(const std::string& name, const std::string& law, const std::vector<Product>& products,
            const std::vector<std::optional<double>>& held, const GemmSettings& settings,
            GemmFit& fit, std::optional<Precision> precision) {
  std::vector<Judged> rows;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Product& p = products[i];
    if (precision && p.op.precision != *precision) continue;
    rows.push_back({p.seconds, predicted(fit, settings, p.op),
                    i < held.size() ? held[i] : std::optional<double>(), p.label});
  }
  if (!rows.empty()) fit.reports.push_back(judge(name, law, kGemmBound, rows));
}

void fit_rest(const std::string& name, const std::vector<Product>& products,
              const GemmSettings& settings, GemmFit& fit, std::optional<double> GemmFit::*which) {
  if (products.empty()) return;
  fit.*which = fit_fraction(products, settings, fit, which);
  report(name, base::format_fixed(*(fit.*which), 3) + " of the plain rate", products, {}, settings,
         fit, std::nullopt);
}

}  // namespace

models::KernelModel gemm_model(const GemmFit& fit, const GemmSettings& settings) {
  models::KernelModel model;
  model.multiprocessors = settings.units;
  model.tile = fit.tile;
  for (std::size_t p = 0; p < fit.law.size(); ++p) {
    model.matrix[p].rate = fit.law[p].rate / settings.units;
    model.matrix[p].prologue_k =
        fit.law[p].wave * model.matrix[p].rate / (2 * kTile * fit.tile * fit.tile);
  }
  model.memory = model.stream = settings.memory;
  model.overlap_loss = fit.loss;
  model.batched = fit.batched.value_or(1);
  model.unaligned = fit.unaligned.value_or(1);
  model.launch = settings.launch;
  return model;
}

GemmFit fit_gemm(const std::vector<Measured>& samples, const GemmSettings& settings) {
  std::vector<Product> plain, unaligned, batched;
  GemmFit fit;
  for (Product& p : products_of(samples)) {
    GemmFit::Law& law = fit.law[static_cast<std::size_t>(p.op.precision)];
    law.best = std::max(law.best, flops(p.op) / p.seconds);
    const bool off = settings.tensor_cores && !p.aligned;
    auto& group = p.op.kind == OpKind::BatchedGemm ? batched : off ? unaligned : plain;
    group.push_back(std::move(p));
  }
  if (plain.empty()) return {};
  fit_tiles_and_law(plain, settings, fit);
  const auto held = held_out(plain, settings, fit);
  for (const auto& [name, precision] : models::kPrecisions) {
    const GemmFit::Law& law = fit.law[static_cast<std::size_t>(precision)];
    if (law.rate <= 0) continue;
    std::string words = rate_text(law.rate) + ", " + base::format_seconds(base::Seconds(law.wave)) +
                        " a wave, loss " + base::format_fixed(fit.loss, 2);
    if (fit.tile != 1) words += ", tiles x" + base::format_fixed(fit.tile, 3);
    report("gemm " + std::string(name), words, plain, held, settings, fit, precision);
  }
  const auto known = [&](const Product& p) {
    return fit.law[static_cast<std::size_t>(p.op.precision)].rate > 0;
  };
  std::erase_if(unaligned, [&](const Product& p) { return !known(p); });
  std::erase_if(batched, [&](const Product& p) { return !known(p); });
  fit_rest("gemm unaligned", unaligned, settings, fit, &GemmFit::unaligned);
  std::erase_if(batched, [&](const Product& p) {
    return settings.tensor_cores && !p.aligned && !fit.unaligned;
  });
  fit_rest("batched-gemm", batched, settings, fit, &GemmFit::batched);
  return fit;
}

}  // namespace paceline::calibrate
