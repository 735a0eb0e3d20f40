// SPDX-License-Identifier: Apache-2.0
#include "reports/svg.hpp"

#include <catch2/catch.hpp>

using namespace paceline::reports;

TEST_CASE("SVG text escapes markup and control characters", "[reports]") {
  CHECK(svg::escape("a<b> & \"c\" 'd'\n") == "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; ");
}

TEST_CASE("SVG numbers have at most two decimals and no negative zero", "[reports]") {
  CHECK(svg::number(1.0) == "1");
  CHECK(svg::number(1.005e3) == "1005");
  CHECK(svg::number(0.126) == "0.13");
  CHECK(svg::number(-0.001) == "0");
}

TEST_CASE("ticks are round and lie inside the range", "[reports]") {
  CHECK(svg::ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(svg::ticks(3, 3) == std::vector<double>{3});
  const auto small = svg::ticks(0.013, 0.027, 4);
  REQUIRE(small.size() >= 2);
  CHECK(small.front() >= 0.013);
  CHECK(small.back() <= 0.027 + 1e-12);
  CHECK(svg::tick_text(0.1 + 0.2) == "0.3");
}

TEST_CASE("log ticks are powers of ten, with 2 and 5 over short ranges", "[reports]") {
  CHECK(svg::log_ticks(1, 10) == std::vector<double>{1, 2, 5, 10});
  CHECK(svg::log_ticks(1, 1e5).size() == 6);
}

TEST_CASE("mixing colours moves from one to the other", "[reports]") {
  CHECK(svg::mix("#000000", "#ffffff", 0) == "#000000");
  CHECK(svg::mix("#000000", "#ffffff", 1) == "#ffffff");
  CHECK(svg::mix("#000000", "#ff0000", 0.5) == "#800000");
}

TEST_CASE("a picture is one closed SVG document of its size", "[reports]") {
  svg::Picture picture(40, 20, "a <title>");
  picture.rect(1, 2, 3, 4, svg::colour::kBlue, "hover & more");
  picture.text(5, 6, "x<y", {.anchor = svg::Anchor::Middle, .rotate = 90});
  const std::string text = picture.finish();
  CHECK(text.find("width=\"40\" height=\"20\" viewBox=\"0 0 40 20\"") != std::string::npos);
  CHECK(text.find("<title>hover &amp; more</title></rect>") != std::string::npos);
  CHECK(text.find("rotate(90 5 6)\">x&lt;y</text>") != std::string::npos);
  CHECK(text.substr(text.size() - 7) == "</svg>\n");
}
