#include "postproc/page/PageFrame.hpp"

#include <fmt/format.h>

#include "base/XmlText.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageStyle.hpp"

namespace multicard::post {

namespace {

std::string head_of(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      escaped(title), kStyleSheet);
}

}  // namespace

std::string html_page(const PageHead& head, const std::vector<std::string>& warnings,
                      const std::vector<PagePart>& parts) {
  std::string contents, body, notes;
  for (const PagePart& part : parts) {
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, escaped(part.heading));
    body += fmt::format("<section id=\"{0}\">\n<h2><a class=\"anchor\" href=\"#{0}\">{1}</a></h2>\n{2}</section>\n",
                        part.id, escaped(part.heading), part.html);
  }
  for (const std::string& warning : warnings)
    notes += fmt::format("<p class=\"warning\">{}</p>\n", escaped(warning));
  return fmt::format(
      "{}<body>\n<div class=\"frame\">\n<header>\n<h1>{}</h1>\n{}<p class=\"meta\">{}</p>\n{}</header>\n"
      "<nav aria-label=\"Contents\"><ol>\n{}</ol></nav>\n<main>\n{}</main>\n</div>\n<script>{}</script>\n</body>\n"
      "</html>\n",
      head_of("multicard: " + head.title), sentence(head.title),
      head.subject.empty() ? std::string() : fmt::format("<p class=\"subject\">{}</p>\n", sentence(head.subject)),
      escaped(head.meta), notes, contents, body, kScript);
}

}  // namespace multicard::post
