// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "reports/svg.hpp"

namespace paceline::reports {

std::string html_text(std::string_view text) { return svg::escape(text); }

std::string script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {  // '<' stands in strings only
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string script_text(std::string_view script) {
  std::string out;
  out.reserve(script.size());
  constexpr std::string_view kEnd = "</";
  for (std::size_t at = 0; at < script.size();) {
    if (script.substr(at, kEnd.size()) == kEnd) {
      out += "<\\/";
      at += kEnd.size();
    } else {
      out += script[at++];
    }
  }
  return out;
}

std::string fill_page(std::string_view html, const PageParts& parts) {
  const std::string title = html_text(parts.title), plain = html_text(parts.plain);
  const std::array<std::pair<std::string_view, std::string_view>, 6> marks{
      {{"title", title},
       {"plain", plain},
       {"style", parts.style},
       {"library", parts.library},
       {"data", parts.data},
       {"script", parts.script}}};
  std::string out;
  while (true) {
    const std::size_t open = html.find("{{");
    out += html.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = html.find("}}", open);
    PACELINE_CHECK(close != std::string_view::npos);
    const std::string_view name = html.substr(open + 2, close - open - 2);
    bool known = false;
    for (const auto& [mark, text] : marks) {
      if (mark != name) continue;
      out += text;
      known = true;
    }
    PACELINE_CHECK(known);
    html.remove_prefix(close + 2);
  }
}

}  // namespace paceline::reports
