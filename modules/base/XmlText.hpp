#pragma once
/// \file Text in HTML and XML.

#include <string>

namespace multicard {

/// `text` for HTML and XML content and attributes: & < > " ' as entities, other control characters than tab and line
/// break as blanks.
std::string escaped(const std::string& text);

}  // namespace multicard
