// SPDX-License-Identifier: Apache-2.0
#include "kernels/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/distributions.hpp"

namespace paceline::kernels {
namespace {

constexpr std::size_t kGuard = 256;
constexpr unsigned char kGuardByte = 0xa5;

bool is_integer(DType type) {
  return type == DType::U8 || type == DType::I32 || type == DType::U32;
}

/// Relative rounding of a value stored once in the type.
double rounding(DType type) {
  switch (type) {
    case DType::F32:
      return 0x1p-23;
    case DType::Bf16:
      return 0x1p-8;
    case DType::F16:
      return 0x1p-11;
    case DType::E4m3:
      return 0x1p-4;
    case DType::E5m2:
      return 0x1p-3;
    case DType::U8:
    case DType::I32:
    case DType::U32:
      break;
  }
  return 0;
}

double random_value(const TensorSpec& spec, base::Rng& rng) {
  switch (spec.fill) {
    case Fill::Normal:
      return base::standard_normal(rng) * spec.scale;
    case Fill::Uniform:
      return rng.uniform(0, spec.scale);
    case Fill::Whole:
      return static_cast<double>(rng.below(static_cast<std::uint64_t>(spec.scale)));
    case Fill::Bits: {
      double bits = 0;
      for (std::size_t i = 0; i < 8 * bytes_of(spec.type); ++i)
        bits = 2 * bits + (rng.uniform() < spec.scale ? 1 : 0);
      return bits;
    }
    case Fill::Constant:
    case Fill::Steps:
    case Fill::Cuts:
    case Fill::Sparse:
    case Fill::Ascending:
      break;
  }
  return spec.scale;
}

/// Offsets of count - 1 pieces.
std::vector<double> offsets(const TensorSpec& spec, base::Rng& rng) {
  const double pieces = static_cast<double>(spec.count - 1);
  std::vector<double> result;
  for (std::int64_t i = 0; i < spec.count; ++i) {
    const double place = pieces > 0 ? static_cast<double>(i) / pieces : 0;
    const bool inner = i > 0 && i + 1 < spec.count;
    result.push_back(
        std::floor(spec.scale * (spec.fill == Fill::Cuts && inner ? rng.uniform() : place)));
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// `wanted` different numbers below `below`, rising (Knuth, The art of computer programming 2,
/// section 3.4.2, algorithm S).
std::vector<double> rising(std::int64_t wanted, std::int64_t below, base::Rng& rng) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < below; ++i) {
    const auto missing = static_cast<double>(wanted - std::ssize(result));
    if (rng.uniform() * static_cast<double>(below - i) < missing)
      result.push_back(static_cast<double>(i));
  }
  return result;
}

}  // namespace

double unwritten(DType type) {
  if (!is_integer(type)) return std::numeric_limits<double>::quiet_NaN();
  unsigned char bytes[8];
  std::memset(bytes, kUnwrittenByte, sizeof bytes);
  return element(bytes, type, 0);
}

std::vector<double> random_values(const TensorSpec& spec, base::Rng& rng) {
  if (spec.fill == Fill::Steps || spec.fill == Fill::Cuts) return offsets(spec, rng);
  const auto scale = static_cast<std::int64_t>(spec.scale);
  if (spec.fill == Fill::Ascending) return rising(spec.count, scale, rng);
  std::vector<double> result(static_cast<std::size_t>(spec.count), 0.0);
  if (spec.fill == Fill::Sparse) {
    for (const double i : rising(scale, spec.count, rng))
      result[static_cast<std::size_t>(i)] = base::standard_normal(rng);
    return result;
  }
  for (double& value : result) value = random_value(spec, rng);
  return result;
}

namespace {

/// Host image of a tensor between its guards: poison, or random input rounded to its type.
std::vector<unsigned char> image(const TensorSpec& spec, base::Rng& rng,
                                 std::vector<double>& values) {
  const std::size_t bytes = static_cast<std::size_t>(spec.count) * bytes_of(spec.type);
  std::vector<unsigned char> result(bytes + 2 * kGuard, kGuardByte);
  unsigned char* data = result.data() + kGuard;
  values.assign(static_cast<std::size_t>(spec.count), 0);
  const bool input = spec.use == Use::In || spec.use == Use::InOut;
  const std::vector<double> fresh = input ? random_values(spec, rng) : std::vector<double>();
  for (std::int64_t i = 0; i < spec.count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    set_element(data, spec.type, i, input ? fresh[k] : unwritten(spec.type));
    if (input) values[k] = element(data, spec.type, i);
  }
  return result;
}

std::string mismatch(const TensorSpec& spec, std::size_t i, double got, double wanted) {
  return std::string(spec.name) + "[" + std::to_string(i) + "] is " + std::to_string(got) +
         ", the reference " + std::to_string(wanted);
}

void compare(const TensorSpec& spec, const std::vector<double>& got,
             const std::vector<double>& wanted, CheckResult& result) {
  double squares = 0;
  for (const double w : wanted) squares += std::isinf(w) ? 0 : w * w;
  const double rms = std::sqrt(squares / std::max<double>(1, static_cast<double>(wanted.size())));
  const bool exact = spec.tolerance == 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double allowed =
        exact ? 0 : spec.tolerance * rms + rounding(spec.type) * std::abs(wanted[i]);
    const double error = std::abs(got[i] - wanted[i]);
    const bool same = got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]));
    const bool fine = same || (!exact && error <= allowed);  // infinities too; false for NaN
    if (allowed > 0 && error / allowed > result.worst) result.worst = error / allowed;
    if (fine) continue;
    if (result.passed) result.problem = mismatch(spec, i, got[i], wanted[i]);
    result.passed = false;
  }
}

}  // namespace

Arguments::Arguments(const Operation& operation, const Case& c, const Backend& backend,
                     std::uint64_t seed)
    : case_(c), backend_(backend), specs_(operation.tensors(c)) {
  base::Rng rng(seed);
  initial_.resize(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const std::vector<unsigned char> bytes = image(specs_[i], rng, initial_[i]);
    buffers_.emplace_back(backend, bytes.size(), specs_[i].on_host);
    backend.to_device(buffers_.back().data(), bytes.data(), bytes.size());
    tensors_.push_back({static_cast<unsigned char*>(buffers_.back().data()) + kGuard,
                        specs_[i].type, specs_[i].count});
  }
}

Values Arguments::values() const {
  Values result(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(specs_[i].count) *
                                     bytes_of(specs_[i].type));
    backend_.to_host(bytes.data(), tensors_[i].data, bytes.size());
    for (std::int64_t k = 0; k < specs_[i].count; ++k)
      result[i].push_back(element(bytes.data(), specs_[i].type, k));
  }
  return result;
}

std::string Arguments::guards() const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    unsigned char guard[kGuard];
    const auto* start = static_cast<unsigned char*>(buffers_[i].data());
    for (const std::size_t at : {std::size_t{0}, buffers_[i].bytes() - kGuard}) {
      backend_.to_host(guard, start + at, kGuard);
      if (std::any_of(guard, guard + kGuard, [](unsigned char b) { return b != kGuardByte; }))
        return std::string(specs_[i].name) + (at == 0 ? " was written before its first element"
                                                      : " was written beyond its last element");
    }
  }
  return "";
}

CheckResult check(const Operation& operation, const Case& c, const Backend& backend,
                  std::uint64_t seed) {
  const Arguments arguments(operation, c, backend, seed);
  const Stream stream = backend.make_stream();
  backend.run(operation, arguments.call(), stream);
  backend.wait(stream);
  backend.drop_stream(stream);
  CheckResult result;
  result.problem = arguments.guards();
  result.passed = result.problem.empty();
  const Values got = arguments.values();
  Values wanted = arguments.initial();
  operation.reference(c, wanted);
  for (std::size_t i = 0; i < got.size(); ++i) {
    TensorSpec spec = arguments.specs()[i];
    if (spec.use == Use::Scratch) continue;
    if (spec.use == Use::In) spec.tolerance = 0;
    compare(spec, got[i], spec.use == Use::In ? arguments.initial()[i] : wanted[i], result);
  }
  return result;
}

}  // namespace paceline::kernels
