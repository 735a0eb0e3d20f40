// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

/// Small pictures as self-contained SVG text. Coordinates are pixels, y grows downwards. Numbers
/// are written with at most two decimals, so the same picture has the same bytes.
namespace paceline::reports::svg {

/// Okabe and Ito's palette (Color Universal Design, 2008): tellable apart with any colour vision.
namespace colour {
inline constexpr std::string_view kBlue = "#0072b2";
inline constexpr std::string_view kSky = "#56b4e9";
inline constexpr std::string_view kGreen = "#009e73";
inline constexpr std::string_view kYellow = "#f0e442";
inline constexpr std::string_view kOrange = "#e69f00";
inline constexpr std::string_view kVermilion = "#d55e00";
inline constexpr std::string_view kPurple = "#cc79a7";
inline constexpr std::string_view kInk = "#222222";
inline constexpr std::string_view kGrey = "#777777";
inline constexpr std::string_view kLight = "#e4e4e4";
inline constexpr std::string_view kPaper = "#ffffff";
}  // namespace colour

/// Colours for series 0, 1, …; repeats after seven.
std::string_view series_colour(std::size_t index);
/// `from` mixed with `share` (0..1) of `to`; both "#rrggbb".
std::string mix(std::string_view from, std::string_view to, double share);

enum class Anchor { Start, Middle, End };

struct TextStyle {
  double size = 12;
  std::string_view fill = colour::kInk;
  Anchor anchor = Anchor::Start;
  bool bold = false;
  double rotate = 0;  ///< degrees, about the text's own position
};

struct Stroke {
  std::string_view colour = colour::kInk;
  double width = 1;
  std::string_view dash = "";  ///< stroke-dasharray, "" = solid
};

struct Label {
  double x = 0, y = 0;
  std::string text;
};

/// Dark text on light fills and the other way round (relative luminance, ITU-R BT.709).
std::string_view label_colour(std::string_view fill);

/// `&`, `<`, `>` and quotes as entities; control characters become spaces.
std::string escape(std::string_view text);
/// At most two decimals, no trailing zeros, never "-0".
std::string number(double value);

/// One picture: shapes in drawing order on a white background. `title` is read by screen readers.
class Picture {
 public:
  Picture(double width, double height, std::string_view title);
  /// `hover` is shown as a tooltip when not empty.
  void rect(double x, double y, double width, double height, std::string_view fill,
            std::string_view hover = "");
  void frame(double x, double y, double width, double height, const Stroke& stroke);
  void line(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
  void polyline(const std::vector<std::array<double, 2>>& points, const Stroke& stroke);
  void circle(double x, double y, double radius, std::string_view fill, double opacity = 1,
              std::string_view hover = "");
  void text(double x, double y, std::string_view content, const TextStyle& style = {});
  /// Path data as in SVG's `d`, filled.
  void path(std::string_view data, std::string_view fill);
  /// Many texts of one style, without rotation.
  void labels(const std::vector<Label>& labels, const TextStyle& style);
  double width() const { return width_; }
  double height() const { return height_; }
  /// The whole document with a final newline.
  std::string finish() const;

 private:
  double width_, height_;
  std::string title_;
  std::string body_;
};

/// Round tick positions (1, 2 or 5 times a power of ten apart) covering [low, high], about `count`.
std::vector<double> ticks(double low, double high, int count = 6);
/// Tick positions at powers of ten within [low, high], with 2 and 5 between when there are few.
std::vector<double> log_ticks(double low, double high);
/// Shortest readable text of a tick: "0.05", "20", "1e6".
std::string tick_text(double value);
/// Estimated width of text in the document's font, pixels: to decide whether a label fits.
double text_width(std::string_view text, double size);

}  // namespace paceline::reports::svg
