#pragma once
/// \file What the data say: findings, each with its severity and the numbers that it rests on.

#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/Estimate.hpp"

namespace multicard {

/// Numbers in full digits, by name.
class Evidence {
 public:
  struct Number {
    template <class T>
    requires std::is_arithmetic_v<T> Number(std::string of, T number)
        : name(std::move(of)), value{static_cast<double>(number), {}, Basis::none, 0} {}
    Number(std::string of, const Estimate& estimate) : name(std::move(of)), value(estimate) {}

    std::string name;
    Estimate value;
  };

  Evidence() = default;
  Evidence(std::initializer_list<Number> numbers);
  /// NAME, and NAME_low and NAME_high where it has an interval.
  void add(const Number& number);
  void add(const Evidence& others) { all_.insert(others.all_.begin(), others.all_.end()); }
  const std::map<std::string, double>& all() const { return all_; }

 private:
  std::map<std::string, double> all_;
};

/// Whether the terminal prints a finding below its table; the page and the summary have all of them.
enum class Severity {
  detail,  ///< no
  notice,  ///< yes
  result,  ///< the answer of the study: the first of them, of tuning methods all
};

/// A sentence with every number that it states, but those in names of configurations, runs, files and dates.
struct Finding {
  std::string text;
  Evidence evidence = {};
  std::string id = {};  ///< what programs find it by: "speedup", "bottleneck"; the wording may change, this does not
  Severity severity = Severity::detail;
  std::string setting = {};  ///< of a run: the key of the deck to change; empty where none helps

  bool empty() const { return text.empty(); }
  /// The text with a full stop, which titles of figures do without.
  std::string sentence() const { return text.ends_with('.') ? text : text + "."; }
};

using Findings = std::vector<Finding>;

/// The sentences, one by one.
std::vector<std::string> texts_of(const Findings& findings);

}  // namespace multicard
