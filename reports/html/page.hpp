// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace paceline::reports {

/// The files of reports/html/page, as the build found them: the page with {{marks}}, and what is
/// put in their place.
struct PageFiles {
  std::string_view html, style, script;
};
PageFiles page_files();

/// As text of an HTML element or a quoted attribute.
std::string html_text(std::string_view text);
/// JSON that a <script> element can hold: no text in it ends the element or begins a comment.
std::string script_json(std::string_view json);
/// A script as the text of a <script> element.
std::string script_text(std::string_view script);

/// What a page is made of; all but `title` and `plain` are put in as they are.
struct PageParts {
  std::string title;  ///< text
  std::string plain;  ///< text for readers without scripts
  std::string_view style, library, data, script;
};
/// Replaces the {{marks}} of `html` in one pass: what is put in is never looked at again.
std::string fill_page(std::string_view html, const PageParts& parts);

}  // namespace paceline::reports
