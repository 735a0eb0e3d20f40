// SPDX-License-Identifier: Apache-2.0
#include "reports/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace paceline::reports::svg {

namespace {

constexpr std::array<std::string_view, 7> kSeries{
    colour::kBlue,   colour::kOrange, colour::kGreen, colour::kVermilion,
    colour::kPurple, colour::kSky,    colour::kYellow};

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + number(value) + "\"";
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escape(value) + "\"";
}

std::string stroke_attributes(const Stroke& stroke) {
  std::string out = attribute("stroke", stroke.colour) + attribute("stroke-width", stroke.width);
  if (!stroke.dash.empty()) out += attribute("stroke-dasharray", stroke.dash);
  return out;
}

/// `<name attributes/>`, or with a tooltip inside.
std::string element(std::string_view name, const std::string& attributes, std::string_view hover) {
  std::string out = "<" + std::string(name) + attributes;
  if (hover.empty()) return out + "/>\n";
  return out + "><title>" + escape(hover) + "</title></" + std::string(name) + ">\n";
}

int channel(std::string_view colour, std::size_t index) {
  return static_cast<int>(
      std::strtol(std::string(colour.substr(1 + 2 * index, 2)).c_str(), nullptr, 16));
}

}  // namespace

std::string_view series_colour(std::size_t index) { return kSeries[index % kSeries.size()]; }

std::string mix(std::string_view from, std::string_view to, double share) {
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double a = channel(from, i), b = channel(to, i);
    rgb[i] = static_cast<int>(std::lround(a + (b - a) * std::clamp(share, 0.0, 1.0)));
  }
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(rgb[0]) & 255u,
                static_cast<unsigned>(rgb[1]) & 255u, static_cast<unsigned>(rgb[2]) & 255u);
  return text;
}

std::string_view label_colour(std::string_view fill) {
  const double light =
      0.2126 * channel(fill, 0) + 0.7152 * channel(fill, 1) + 0.0722 * channel(fill, 2);
  return light > 140 ? colour::kInk : colour::kPaper;
}

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
    }
  }
  return out;
}

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

Picture::Picture(double width, double height, std::string_view title)
    : width_(width), height_(height), title_(title) {
  rect(0, 0, width, height, colour::kPaper);
}

void Picture::rect(double x, double y, double width, double height, std::string_view fill,
                   std::string_view hover) {
  body_ += element("rect",
                   attribute("x", x) + attribute("y", y) + attribute("width", width) +
                       attribute("height", height) + attribute("fill", fill),
                   hover);
}

void Picture::frame(double x, double y, double width, double height, const Stroke& stroke) {
  body_ += element("rect",
                   attribute("x", x) + attribute("y", y) + attribute("width", width) +
                       attribute("height", height) + attribute("fill", "none") +
                       stroke_attributes(stroke),
                   "");
}

void Picture::line(double x1, double y1, double x2, double y2, const Stroke& stroke) {
  body_ += element("line",
                   attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
                       attribute("y2", y2) + stroke_attributes(stroke),
                   "");
}

void Picture::polyline(const std::vector<std::array<double, 2>>& points, const Stroke& stroke) {
  std::string list;
  for (const auto& [x, y] : points) {
    if (!list.empty()) list += ' ';
    list += number(x) + "," + number(y);
  }
  body_ += element(
      "polyline", attribute("points", list) + attribute("fill", "none") + stroke_attributes(stroke),
      "");
}

void Picture::circle(double x, double y, double radius, std::string_view fill, double opacity,
                     std::string_view hover) {
  std::string attributes =
      attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + attribute("fill", fill);
  if (opacity < 1) attributes += attribute("fill-opacity", opacity);
  body_ += element("circle", attributes, hover);
}

void Picture::text(double x, double y, std::string_view content, const TextStyle& style) {
  std::string attributes = attribute("x", x) + attribute("y", y) +
                           attribute("font-size", style.size) + attribute("fill", style.fill);
  if (style.anchor == Anchor::Middle) attributes += attribute("text-anchor", "middle");
  if (style.anchor == Anchor::End) attributes += attribute("text-anchor", "end");
  if (style.bold) attributes += attribute("font-weight", "bold");
  if (style.rotate != 0) {
    attributes += attribute(
        "transform", "rotate(" + number(style.rotate) + " " + number(x) + " " + number(y) + ")");
  }
  body_ += "<text" + attributes + ">" + escape(content) + "</text>\n";
}

void Picture::path(std::string_view data, std::string_view fill) {
  body_ += element("path", attribute("d", data) + attribute("fill", fill), "");
}

void Picture::labels(const std::vector<Label>& labels, const TextStyle& style) {
  if (labels.empty()) return;
  std::string attributes = attribute("font-size", style.size) + attribute("fill", style.fill);
  if (style.anchor == Anchor::Middle) attributes += attribute("text-anchor", "middle");
  if (style.anchor == Anchor::End) attributes += attribute("text-anchor", "end");
  if (style.bold) attributes += attribute("font-weight", "bold");
  body_ += "<g" + attributes + ">\n";
  for (const Label& label : labels) {
    body_ += "<text" + attribute("x", label.x) + attribute("y", label.y) + ">" +
             escape(label.text) + "</text>\n";
  }
  body_ += "</g>\n";
}

std::string Picture::finish() const {
  const std::string w = number(width_), h = number(height_);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h +
         "\" role=\"img\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>" + escape(title_) +
         "</title>\n" + body_ + "</svg>\n";
}

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> out;
  if (!(high > low) || count < 1) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double k : {1.0, 2.0, 5.0}) {
    if (k * power >= rough * (1 - 1e-9)) {
      step = k * power;
      break;
    }
  }
  const double slack = 1e-9 * step;
  for (double i = std::ceil((low - slack) / step); i * step <= high + slack; ++i) {
    out.push_back(i * step);
  }
  return out;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> out;
  if (!(low > 0) || !(high > low)) return {low};
  const bool dense = std::log10(high / low) < 3;
  for (double e = std::floor(std::log10(low)); e <= std::ceil(std::log10(high)); ++e) {
    for (const double k : {1.0, 2.0, 5.0}) {
      if (k > 1 && !dense) continue;
      const double v = k * std::pow(10.0, e);
      if (v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) out.push_back(v);
    }
  }
  return out;
}

std::string tick_text(double value) {
  if (std::fabs(value) < 1e-12) return "0";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

double text_width(std::string_view text, double size) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // UTF-8 continuation bytes take no room
  });
  return 0.56 * size * static_cast<double>(characters);
}

}  // namespace paceline::reports::svg
