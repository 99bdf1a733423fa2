#include "postproc/study/ClaimVerdict.hpp"

#include <cmath>

#include <fmt/format.h>

#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

std::string signed_percent(double ratio) {
  const double change = 100 * (ratio - 1);
  const int decimals = std::abs(change) < 100 ? 1 : 0;
  const std::string digits = fmt::format("{:.{}f}", std::abs(change), decimals);
  const bool is_zero = digits.find_first_not_of("0.") == std::string::npos;
  return (is_zero ? "" : change < 0 ? "−" : "+") + digits;
}

}  // namespace

Verdict verdict_of(const Estimate& ratio, double claimed) {
  if (!ratio.known() || !ratio.interval || is_too_wide(ratio)) return Verdict::open;
  const double target = 1 + claimed;
  const bool is_less = claimed < 0;
  const double better = is_less ? ratio.interval->low : ratio.interval->high,
               worse = is_less ? ratio.interval->high : ratio.interval->low;
  const auto reaches = [&](double end) { return is_less ? end <= target : end >= target; };
  if (reaches(worse)) return Verdict::reached;
  return reaches(better) ? Verdict::open : Verdict::missed;
}

const char* text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::reached:
      return "reached";
    case Verdict::missed:
      return "not reached";
    case Verdict::open:
      break;
  }
  return "open";
}

const char* text_of(Parity parity) {
  switch (parity) {
    case Parity::accepted:
      return "accepted";
    case Parity::within_control:
      return "undecided";
    case Parity::refused:
      break;
  }
  return "refused";
}

std::string change_text(const Estimate& ratio) {
  if (!ratio.known()) return "–";
  std::string change = signed_percent(ratio.value) + " %";
  if (!ratio.interval) return change;
  if (is_too_wide(ratio)) return change + " [too wide to tell]";
  return fmt::format("{} [{}, {}]", change, signed_percent(ratio.interval->low), signed_percent(ratio.interval->high));
}

}  // namespace multicard::post
