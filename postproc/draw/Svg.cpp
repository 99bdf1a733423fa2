#include "postproc/draw/Svg.hpp"

#include <array>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/XmlText.hpp"

namespace multicard::post {

namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// Removes every part from `from` to the next `to`, both included.
void remove_between(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const std::size_t end = text.find(to, at);
    if (end == std::string::npos) return;
    text.erase(at, end + to.size() - at);
  }
}

/// The opening tag, and what a screen reader says: a description after the title, which a pointer shows too.
std::string head_of(const std::string& view_box, const std::string& id, const std::string& title,
                    const std::string& description) {
  const std::string more =
      description.empty() ? std::string() : fmt::format("<desc id=\"{}-desc\">{}</desc>\n", id, escaped(description));
  return fmt::format(
      "<svg {} xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" role=\"img\" "
      "aria-labelledby=\"{}-title{}\" font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, "
      "'DejaVu Sans', sans-serif\">\n<title id=\"{}-title\">{}</title>\n{}",
      view_box, id, more.empty() ? "" : fmt::format(" {}-desc", id), id, escaped(title), more);
}

}  // namespace

/// gnuplot's SVG has fixed colours, ids that are alike in all files, and a background; the page needs the text colour
/// of its theme, ids that are unique in it, and a title for screen readers. What is replaced is the literal output of
/// gnuplot's svg terminal.
std::string themed(std::string svg, const std::string& id, const std::string& title, const std::string& description) {
  const std::size_t start = svg.find("<svg");
  const std::size_t canvas = svg.find("<g id=\"gnuplot_canvas\">");
  std::smatch box;
  if (start == std::string::npos || canvas == std::string::npos ||
      !std::regex_search(svg, box, std::regex("viewBox=\"[0-9. ]+\"")))
    throw EnvironmentError("gnuplot wrote no SVG", svg.substr(0, 200), "Check that gnuplot has its svg terminal.");
  const std::string head = head_of(box.str(), id, title, description);
  svg.erase(0, canvas);
  // The white background.
  remove_between(svg, "<rect x=\"0\" y=\"0\"", "/>");
  // Filters that no figure uses.
  remove_between(svg, "<filter", "</filter>");
  replace_all(svg, "id=\"gnuplot_canvas\"", "");
  // Shapes of points are defined once and used by id.
  replace_all(svg, "gpPt", id + "-pt");
  replace_all(svg, "gpDot", id + "-dot");
  // Black becomes the text colour; rgb(1,2,3) is kFaint, which no other element has; the grid is nearly transparent.
  static const std::array<std::pair<const char*, const char*>, 12> kReplacements{
      {{"fill=\"black\"", "fill=\"currentColor\""},
       {"stroke='black'", "stroke='currentColor'"},
       {"stroke=\"black\"", "stroke=\"currentColor\""},
       {"color=\"black\"", ""},
       {"color=\"gray\"", ""},
       {"color=\"white\"", ""},
       {" font-family=\"Sans\"", ""},
       {" font-family=\"Sans:Bold\"", " font-weight=\"600\""},
       {"rgb(  0,   0,   0)", "currentColor"},
       {"fill=\"rgb(1,2,3)\"", "fill=\"currentColor\" fill-opacity=\"0.7\""},
       {"stroke='rgb(  1,   2,   3)'", "stroke='currentColor' stroke-opacity='0.5'"},
       {"stroke='rgb(128, 128, 128)' stroke-dasharray='2,4' class=\"gridline\"",
        "stroke='currentColor' stroke-opacity='0.15'"}}};
  for (const auto& [what, by] : kReplacements)
    replace_all(svg, what, by);
  // gnuplot draws white over the line under error bars.
  svg = std::regex_replace(svg, std::regex("<use [^>]*color='white'/>\\s*"), "");
  // The cross of failed runs must be as heavy as a line.
  svg = std::regex_replace(svg, std::regex("stroke-width='[0-9.]+'( stroke='currentColor' d='M-1,-1 L1,1 M1,-1 )"),
                           "stroke-width='0.45'$1");
  // Names of its plots, which a pointer would show.
  svg = std::regex_replace(svg, std::regex("<title>gnuplot_plot_[^<]*</title>\\s*"), "");
  svg = std::regex_replace(svg, std::regex("<g [^>]*>\\s*</g>\\s*"), "");
  // SVG's defaults, repeated hundreds of times.
  svg = std::regex_replace(
      svg, std::regex(" stroke-width=\"1.00\"| stroke-linecap=\"butt\"| stroke-linejoin=\"miter\""), "");
  return head + svg;
}

std::string with_tips(std::string svg, const std::vector<Tip>& tips) {
  std::string shapes;
  for (const Tip& tip : tips) {
    const std::string shape = tip.width > 0
                                  ? fmt::format("rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"",
                                                tip.x, tip.y, tip.width, tip.height)
                                  : fmt::format("circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\"", tip.x, tip.y);
    shapes += fmt::format("<{} class=\"tip\" fill=\"transparent\"><title>{}</title></{}>\n", shape, escaped(tip.text),
                          tip.width > 0 ? "rect" : "circle");
  }
  const std::size_t end = svg.rfind("</svg>");
  return end == std::string::npos ? svg : svg.insert(end, shapes);
}

std::string without_head(std::string svg, double height) {
  // Its texts are groups of their own, moved to their place. Only they are so high up.
  static const std::regex kText(
      "<g transform=\"translate\\([0-9.]+,([0-9.]+)\\)\"[^>]*>\\s*<text>[^<]*</text>\\s*</g>\\s*");
  std::string kept;
  std::sregex_iterator text(svg.begin(), svg.end(), kText);
  auto from = svg.cbegin();
  for (; text != std::sregex_iterator(); ++text) {
    if (std::stod((*text)[1].str()) > height) continue;
    kept.append(from, (*text)[0].first);
    from = (*text)[0].second;
  }
  kept.append(from, svg.cend());
  svg = std::move(kept);
  std::smatch box;
  if (!std::regex_search(svg, box, std::regex("viewBox=\"0 0 ([0-9.]+) ([0-9.]+)\""))) return svg;
  const std::string rest =
      fmt::format("viewBox=\"0 {:.0f} {} {:.0f}\"", height, box[1].str(), std::stod(box[2].str()) - height);
  return svg.replace(static_cast<std::size_t>(box.position()), static_cast<std::size_t>(box.length()), rest);
}

}  // namespace multicard::post
