#pragma once
/// \file Sentences of the report together with the numbers that they state.

#include <map>
#include <string>
#include <vector>

#include "base/Estimate.hpp"

namespace multicard::post {

/// Numbers in full digits, by name.
class Numbers {
 public:
  Numbers& add(const std::string& name, double value);
  /// NAME, and NAME_low and NAME_high where it has an interval.
  Numbers& add(const std::string& name, const Estimate& estimate);
  Numbers& add(const Numbers& others);
  const std::map<std::string, double>& all() const { return all_; }

 private:
  std::map<std::string, double> all_;
};

/// A sentence with what it is about, which programs find it by, and every number that it states. Numbers in names of
/// configurations, runs, files and dates are not among them.
struct Statement {
  std::string id;  ///< "speedup", "bottleneck", …; the wording may change, this does not
  std::string text;
  Numbers numbers = {};

  bool empty() const { return text.empty(); }
};

using Statements = std::vector<Statement>;

/// The sentences, one by one.
std::vector<std::string> texts_of(const Statements& statements);

/// The sentences with a blank between them; empty ones are left out.
std::string text_of(const Statements& statements);

/// What the interval of a ratio says of a difference.
enum class Verdict {
  more,     ///< all of it is above 1
  less,     ///< all of it is below 1
  none,     ///< 1 is in it, or it is too wide to tell: no difference that could be measured
  unknown,  ///< there is no interval
};
Verdict verdict(const Estimate& ratio);

}  // namespace multicard::post
