#include "evaluation/ClassScores.hpp"

#include <limits>

namespace multicard {

double ClassScore::ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<ClassScore> class_scores(const Confusion& confusion, std::int64_t num_classes) {
  std::vector<ClassScore> scores(static_cast<std::size_t>(num_classes));
  for (const auto& [pair, count] : confusion) {
    scores.at(static_cast<std::size_t>(pair.first)).samples += count;
    scores.at(static_cast<std::size_t>(pair.second)).predicted += count;
    if (pair.first == pair.second) scores[static_cast<std::size_t>(pair.first)].correct = count;
  }
  return scores;
}

Table classes_table(const std::vector<ClassScore>& scores, const std::vector<std::string>& names) {
  Table table;
  table.text["name"] = names;
  for (const ClassScore& score : scores) {
    table.integers["samples"].push_back(score.samples);
    table.integers["predicted"].push_back(score.predicted);
    table.integers["correct"].push_back(score.correct);
    table.reals["precision"].push_back(score.precision());
    table.reals["recall"].push_back(score.recall());
    table.reals["f1"].push_back(score.f1());
  }
  return table;
}

Table confusion_table(const Confusion& confusion) {
  Table table;
  for (const auto& [pair, count] : confusion) {
    table.integers["actual"].push_back(pair.first);
    table.integers["predicted"].push_back(pair.second);
    table.integers["count"].push_back(count);
  }
  return table;
}

}  // namespace multicard
