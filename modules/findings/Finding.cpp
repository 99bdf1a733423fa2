#include "findings/Finding.hpp"

namespace multicard {

Evidence::Evidence(std::initializer_list<Number> numbers) {
  for (const Number& number : numbers)
    add(number);
}

void Evidence::add(const Number& number) {
  all_[number.name] = number.value.value;
  if (!number.value.interval) return;
  all_[number.name + "_low"] = number.value.interval->low;
  all_[number.name + "_high"] = number.value.interval->high;
}

std::vector<std::string> texts_of(const Findings& findings) {
  std::vector<std::string> texts;
  texts.reserve(findings.size());
  for (const Finding& finding : findings)
    texts.push_back(finding.text);
  return texts;
}

}  // namespace multicard
