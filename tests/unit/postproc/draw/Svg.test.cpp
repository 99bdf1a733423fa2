#include "postproc/draw/Svg.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/expect_error.hpp"

namespace multicard::post {
namespace {

constexpr const char* kDrawn =
    "<?xml version=\"1.0\"?>\n<svg width=\"640\" viewBox=\"0 0 640 480\">\n<defs/>\n<g id=\"gnuplot_canvas\">"
    "<rect x=\"0\" y=\"0\" width=\"640\" fill=\"#ffffff\"/>\n<path stroke='black'/><use href='#gpPt4'/></g></svg>";

TEST(Svg, TakesTheColourOfThePage) {
  const std::string svg = themed(kDrawn, "time", "1 < 2");
  EXPECT_NE(svg.find("stroke='currentColor'"), std::string::npos) << svg;
  EXPECT_NE(svg.find("#time-pt4"), std::string::npos) << "several figures share a page";
  EXPECT_NE(svg.find("<title id=\"time-title\">1 &lt; 2</title>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("#ffffff"), std::string::npos) << "no background";
}

TEST(Svg, LosesItsHead) {
  EXPECT_NE(without_head(themed(kDrawn, "time", ""), 40).find("viewBox=\"0 40 640 440\""), std::string::npos);
}

TEST(Svg, WhatGnuplotDidNotDrawIsAnError) {
  const std::string message = test::message_of<EnvironmentError>([] { themed("line 0: undefined", "time", ""); });
  EXPECT_NE(message.find("gnuplot wrote no SVG (line 0: undefined)"), std::string::npos) << message;
}

}  // namespace
}  // namespace multicard::post
