#include "base/ErrorReport.hpp"

namespace multicard {

std::string error_report(const Error& error) {
  std::string text = error.problem();
  if (!error.why().empty()) text += " (" + error.why() + ")";
  if (!error.suggestion().empty()) text += "\n  " + error.suggestion();
  return text;
}

}  // namespace multicard
