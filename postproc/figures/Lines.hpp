#pragma once
/// \file Cells that differ in one axis alone, as lines of a figure.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The cells along one axis, everything else equal.
struct Line {
  std::map<std::string, std::string> others;           ///< the other axes and "ranks"
  std::map<std::string, std::string> labels;           ///< of these values
  std::vector<std::pair<double, const Cell*>> points;  ///< by the value on the axis, ascending
};

/// The value of an axis as a number; NaN if it is none.
double number_of(const std::string& value);

/// Whether all values of the axis are numbers.
bool is_numeric(const Axis& axis);

/// The lines along the numeric axis `key` with at least two cells each, in the order of the study.
std::vector<Line> lines_along(const Study& study, const std::string& key);

/// `lines` in panels of at most `most`, split by as few settings as possible.
std::vector<std::vector<Line>> panels_of(const std::vector<Line>& lines, std::size_t most);

/// What distinguishes `line` from the others of its panel, "fp16, 4 ranks"; what they have in common where nothing
/// does.
std::string label_of(const Line& line, const std::vector<Line>& panel);

/// What the lines of a panel have in common, of the settings that differ elsewhere in the study; may be empty.
std::string in_common(const std::vector<Line>& panel);

}  // namespace multicard::post
