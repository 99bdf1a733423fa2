#pragma once
/// \file What every page has: title, contents, style and script. One file, no network.

#include <string>
#include <vector>

namespace multicard::post {

/// A section of a page.
struct PagePart {
  std::string id;  ///< what links name
  std::string heading;
  std::string html;  ///< all other text is escaped here
};

/// What stands on top of a page.
struct PageHead {
  std::string title;
  std::string subject;  ///< the line below it; none where it is empty
  std::string meta;     ///< what the page was made from, and by what
};

std::string html_page(const PageHead& head, const std::vector<std::string>& warnings,
                      const std::vector<PagePart>& parts);

}  // namespace multicard::post
