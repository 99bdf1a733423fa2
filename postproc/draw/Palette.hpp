#pragma once
/// \file Colours and markers. A colour of kColours is one configuration (or task of a share) in all figures of a page;
/// parts of a bar have lighter ones of their own.

#include <array>
#include <cstddef>

namespace multicard::post {

/// Of configurations, in their order: after Okabe and Ito, which most colour-blind people can distinguish; their light
/// ones are replaced, so that all contrast 3 : 1 with a light and with a dark page.
inline constexpr std::array<const char*, 7> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#B07D00", "#8A6FD0", "#7A8B00"};
/// gnuplot's filled point types, so that colour is never the only difference.
inline constexpr std::array<int, 7> kMarkers{7, 5, 9, 13, 11, 15, 6};
/// gnuplot's dash types, for lines without markers.
inline constexpr std::array<const char*, 7> kDashes{"1",      "(8,4)",         "(2,3)", "(10,3,2,3)",
                                                    "(14,4)", "(6,2,2,2,2,2)", "(4,4)"};
/// Of crosses: what did not complete.
inline constexpr const char* kFailed = "#E0433A";
/// Of what stands for no configuration: effects of options, boxes of ranks.
inline constexpr const char* kPlain = "#5B7F95";
/// The ground of a strip for what did not complete: a faint grey on any page.
inline constexpr const char* kStrip = "#D8808080";

/// How a line is drawn: the colour says which configuration it is, marker and dash also on how many ranks.
struct LineStyle {
  LineStyle(std::size_t number = 0, std::size_t among_alike = 0) : colour(number), variant(among_alike) {}

  std::size_t colour;   ///< number of the configuration
  std::size_t variant;  ///< number of the line among those of one colour

  const char* line_colour() const { return kColours[colour % kColours.size()]; }
  int marker() const { return kMarkers[(colour + colour / kColours.size() + variant) % kMarkers.size()]; }
  const char* dash() const { return kDashes[(variant > 0 ? variant : colour) % kDashes.size()]; }
};

/// themed() replaces it by a faint version of the page's text colour.
inline constexpr const char* kFaint = "#010203";
/// Its replacement on paper.
inline constexpr const char* kFaintOnPaper = "#5F6368";

}  // namespace multicard::post
