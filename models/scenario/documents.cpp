// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/documents.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "base/message.hpp"
#include "models/scenario/number_lines.hpp"

namespace paceline::models {
namespace {

using base::Fields;
using base::Named;

constexpr std::int64_t kMaxLength = std::int64_t{1} << 27;
constexpr std::size_t kMaxLengths = 1'000'000;
constexpr std::size_t kMaxFileBytes = 32U << 20;
constexpr int kMaxSteps = 1'000'000;
constexpr std::int64_t kMaxSampleDegree = 4096;
constexpr double kMaxLengthSigma = 5;

enum class KindName { Fixed, Lognormal, LongTail, File };
constexpr std::array<Named<KindName>, 4> kKinds{{{"fixed", KindName::Fixed},
                                                 {"lognormal", KindName::Lognormal},
                                                 {"long-tail", KindName::LongTail},
                                                 {"file", KindName::File}}};
constexpr std::array<Named<Packing>, 4> kPackings{{{"sequential", Packing::Sequential},
                                                   {"first-fit", Packing::FirstFit},
                                                   {"split", Packing::Split},
                                                   {"chunks", Packing::Chunks}}};

/// What a window cannot hold: where it stands, and what would do.
struct TooLong {
  bool whole = true;  ///< the packing does not cut
  std::int64_t tokens = 0;
  bool samples = false;  ///< of batch.samples
  void check(std::int64_t length, const std::string& where) const {
    if (!whole || length <= tokens) return;
    const std::string sequence = "batch.sequence = " + std::to_string(tokens);
    if (samples)
      throw base::Error(
          where, "a sample of " + std::to_string(length) + " tokens is longer than " + sequence,
          "batch.sequence of " + std::to_string(length) + " or more");
    throw base::Error(
        where,
        "a document of " + std::to_string(length) +
            " tokens is longer than the window, batch.sequence = " + std::to_string(tokens),
        "batch.sequence of " + std::to_string(length) + " or more, or packing: split or chunks");
  }
};

std::vector<std::int64_t> read_lengths(const std::string& path, const TooLong& limit) {
  std::vector<std::int64_t> lengths;
  for_each_line(path, kMaxFileBytes, [&](std::string_view word, const std::string& where) {
    lengths.push_back(base::parse_integer(word, where, 1, kMaxLength));
    limit.check(lengths.back(), where);
  });
  return lengths;
}

std::vector<std::int64_t> listed_lengths(Fields& fields, const TooLong& limit) {
  std::vector<std::int64_t> lengths;
  for (const base::Value& item : fields.list("lengths")) {
    const std::string where = fields.where(item, "lengths");
    if (item.kind != base::Value::Kind::Scalar || item.quoted)
      throw base::Error(where, "expected a number of tokens", "a whole number without quotes");
    lengths.push_back(base::parse_integer(item.text, where, 1, kMaxLength));
    limit.check(lengths.back(), where);
  }
  return lengths;
}

void check_count(Fields& fields, std::string_view key, std::size_t count) {
  if (count == 0) fields.fail(key, "holds no length", "one number of tokens a line, or a list");
  if (count > kMaxLengths)
    fields.fail(key, "holds " + std::to_string(count) + " lengths",
                std::to_string(kMaxLengths) + " at most");
}

/// Of random lengths: none is longer than a window that is not cut.
void read_range(Fields& fields, Documents& d, const TooLong& limit) {
  d.shortest = fields.integer("shortest", 1, kMaxLength, d.shortest);
  d.longest = fields.integer("longest", 1, kMaxLength, std::max(limit.tokens, d.shortest));
  limit.check(d.longest, fields.where("longest"));
  limit.check(d.shortest, fields.where("shortest"));
  if (d.shortest > d.longest)
    fields.fail("shortest",
                std::to_string(d.shortest) + " is above longest = " + std::to_string(d.longest));
}

}  // namespace

namespace {

/// Everything but `packing`.
void read_kind(Fields& fields, const std::string& folder, const TooLong& limit, Documents& d) {
  const auto kind = fields.choice<KindName>("kind", kKinds);
  switch (kind) {
    case KindName::Fixed:
      d.kind = DocumentKind::Fixed;
      d.lengths = listed_lengths(fields, limit);
      check_count(fields, "lengths", d.lengths.size());
      break;
    case KindName::File: {
      d.kind = DocumentKind::Drawn;
      const std::filesystem::path file(fields.text("file"));
      d.lengths = read_lengths(
          (file.is_absolute() ? file : std::filesystem::path(folder) / file).string(), limit);
      check_count(fields, "file", d.lengths.size());
      break;
    }
    case KindName::Lognormal:
      d.kind = DocumentKind::Lognormal;
      d.median = fields.number("median", 1, static_cast<double>(kMaxLength));
      d.sigma = fields.number("sigma", 0, kMaxLengthSigma);
      read_range(fields, d, limit);
      break;
    case KindName::LongTail:
      d.kind = DocumentKind::LongTail;
      d.shape = fields.number("shape", 0.1, 1000);
      fields.at("shortest");
      read_range(fields, d, limit);
      break;
  }
  d.seed = static_cast<std::uint64_t>(
      fields.integer("seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
  d.steps = static_cast<int>(fields.integer("steps", 1, kMaxSteps, 200));
}

}  // namespace

Documents read_documents(Fields fields, const std::string& folder, std::int64_t tokens) {
  Documents d;
  d.packing = fields.choice<Packing>("packing", kPackings, Packing::Sequential);
  const bool whole = d.packing == Packing::Sequential || d.packing == Packing::FirstFit;
  read_kind(fields, folder, {whole, tokens}, d);
  fields.done();
  return d;
}

Samples read_samples(Fields fields, const std::string& folder, std::int64_t tokens) {
  Samples samples;
  read_kind(fields, folder, {true, tokens, true}, samples.lengths);
  for (const base::Value& item : fields.list("degrees")) {
    const std::string where = fields.where(item, "degrees");
    const std::int64_t degree = base::parse_integer(item.text, where, 1, kMaxSampleDegree);
    if ((degree & (degree - 1)) != 0)
      throw base::Error(where, std::to_string(degree) + " is no power of 2",
                        "for example [1, 2, 4, 8]");
    samples.degrees.push_back(static_cast<int>(degree));
  }
  if (samples.degrees.empty()) fields.fail("degrees", "is empty", "for example [1, 2, 4, 8]");
  std::sort(samples.degrees.begin(), samples.degrees.end());
  samples.degrees.erase(std::unique(samples.degrees.begin(), samples.degrees.end()),
                        samples.degrees.end());
  fields.done();
  return samples;
}

std::string_view to_text(Packing packing) {
  for (const auto& [name, value] : kPackings)
    if (value == packing) return name;
  return "";
}

}  // namespace paceline::models
