#include "postproc/study/Statement.hpp"

#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

Numbers& Numbers::add(const std::string& name, double value) {
  all_[name] = value;
  return *this;
}

Numbers& Numbers::add(const std::string& name, const Estimate& estimate) {
  all_[name] = estimate.value;
  if (!estimate.interval) return *this;
  all_[name + "_low"] = estimate.interval->low;
  all_[name + "_high"] = estimate.interval->high;
  return *this;
}

Numbers& Numbers::add(const Numbers& others) {
  all_.insert(others.all_.begin(), others.all_.end());
  return *this;
}

std::vector<std::string> texts_of(const Statements& statements) {
  std::vector<std::string> texts;
  texts.reserve(statements.size());
  for (const Statement& statement : statements)
    texts.push_back(statement.text);
  return texts;
}

std::string text_of(const Statements& statements) {
  std::string text;
  for (const Statement& statement : statements)
    if (!statement.empty()) text += (text.empty() ? "" : " ") + statement.text;
  return text;
}

Verdict verdict(const Estimate& ratio) {
  if (!ratio.interval) return Verdict::unknown;
  if (is_too_wide(ratio)) return Verdict::none;
  if (ratio.interval->low > 1) return Verdict::more;
  return ratio.interval->high < 1 ? Verdict::less : Verdict::none;
}

}  // namespace multicard::post
