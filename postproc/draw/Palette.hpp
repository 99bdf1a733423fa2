#pragma once
/// \file Colours and markers: Okabe and Ito's, which most colour-blind people can distinguish
/// (jfly.uni-koeln.de/color).

#include <array>

namespace multicard::post {

/// Of configurations, in their order.
inline constexpr std::array<const char*, 7> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#E69F00", "#56B4E9", "#F0E442"};
/// gnuplot's filled point types, so that colour is never the only difference.
inline constexpr std::array<int, 7> kMarkers{7, 5, 9, 13, 11, 15, 6};
/// gnuplot's dash types, for lines without markers.
inline constexpr std::array<const char*, 7> kDashes{"1",      "(8,4)",         "(2,3)", "(10,3,2,3)",
                                                    "(14,4)", "(6,2,2,2,2,2)", "(4,4)"};
inline constexpr const char* kFailed = "#D55E00";
/// themed() replaces it by a faint version of the page's text colour.
inline constexpr const char* kFaint = "#010203";
/// Its replacement on paper.
inline constexpr const char* kFaintOnPaper = "#5F6368";

}  // namespace multicard::post
