// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "models/jobs/read_parts.hpp"

/// `vary`, `compare` and `expect` of jobs files.
namespace paceline::models {
namespace {

using base::Fields;
using base::Value;

constexpr std::size_t kMaxVariants = 200;
constexpr double kLargest = 1e12;

void read_variants(const base::Document& document, Fields& fields, JobsStudy& study) {
  study.variants.push_back({"", read_jobs_variant(document)});
  if (!fields.has("vary")) return;
  std::set<std::string> names;
  for (const Value& item : fields.list("vary")) {
    Fields own = fields.view(item, "vary");
    const std::string name = job_name(own, "name");
    if (!names.insert(name).second)
      own.fail("name", base::quote(name) + " stands twice", "give each its own name");
    own.map("with");
    const Value& changes = own.at("with");
    own.done();
    base::Document changed = document;
    base::merge(changed, base::Document{document.file, changes});
    study.variants.push_back({name, read_jobs_variant(changed)});
    if (study.variants.back().file.policies != study.base().policies)
      own.fail("with", "changes the policies", "all variants have the same");
    if (study.variants.size() > kMaxVariants)
      fields.fail("vary", "has too many entries", std::to_string(kMaxVariants) + " at most");
  }
}

void make_columns(const base::Document& document, JobsStudy& study) {
  study.columns.file = document.file;
  for (const std::string& policy : study.base().policies)
    for (const std::string_view figure : kJobFigures)
      study.columns.header.push_back({policy + "." + std::string(figure), 1, 1});
}

void read_comparisons(Fields& fields, JobsStudy& study) {
  if (!fields.has("compare")) return;
  for (const Value& item : fields.list("compare")) {
    Fields own = fields.view(item, "compare");
    JobsComparison one;
    one.name = job_name(own, "name");
    one.text = own.text("that");
    one.that = parse_expression(one.text, study.columns, own.where("that"));
    if (own.has("published") && own.at("published").kind == Value::Kind::Scalar) {
      one.published = own.number("published", 0, kLargest);
    } else if (own.has("published")) {
      const std::vector<Value>& ends = own.list("published");
      if (ends.size() != 2) own.fail("published", "is no range", "for example [0.353, 0.721]");
      one.low = base::parse_number(ends[0].text, own.where(ends[0], "published"), 0, kLargest);
      one.high =
          base::parse_number(ends[1].text, own.where(ends[1], "published"), *one.low, kLargest);
    }
    own.done();
    study.compare.push_back(std::move(one));
  }
}

void read_expectations(Fields& fields, JobsStudy& study) {
  if (!fields.has("expect")) return;
  for (const Value& item : fields.list("expect")) {
    Fields own = fields.view(item, "expect");
    JobsExpectation one;
    one.text = own.text("that");
    one.that = parse_expression(one.text, study.columns, own.where("that"));
    if (own.has("least")) one.least = own.number("least", 0, kLargest);
    if (own.has("most")) one.most = own.number("most", 0, kLargest);
    if (one.least && one.most && *one.least > *one.most)
      own.fail("most", "is below least", "at least " + own.at("least").text);
    if (!one.least && !one.most) own.fail("that", "is bounded by nothing", "write least or most");
    one.variant = own.text("variant", "");
    std::vector<std::string> names;
    for (const JobsVariant& variant : study.variants) names.push_back(variant.name);
    if (std::find(names.begin(), names.end(), one.variant) == names.end())
      own.fail("variant", "unknown variant " + base::quote(one.variant),
               base::suggest(one.variant, names, "one of"));
    one.says = own.text("says", "");
    own.done();
    study.expect.push_back(std::move(one));
  }
}

}  // namespace

JobsStudy read_jobs(const base::Document& document) {
  Fields fields(document, document.root);
  JobsStudy study;
  read_variants(document, fields, study);
  make_columns(document, study);
  read_comparisons(fields, study);
  read_expectations(fields, study);
  return study;
}

JobsStudy without_variants(JobsStudy study) {
  study.variants.resize(1);
  const auto of_variant = [](const JobsExpectation& one) { return !one.variant.empty(); };
  study.expect.erase(std::remove_if(study.expect.begin(), study.expect.end(), of_variant),
                     study.expect.end());
  return study;
}

JobsStudy read_jobs(const std::string& file) { return read_jobs(base::read_document(file)); }

}  // namespace paceline::models
