#include "scheduling/plan/PlanPicture.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/XmlText.hpp"
#include "io/OwnFiles.hpp"
#include "scheduling/plan/GpuLanes.hpp"

namespace multicard {

namespace {

constexpr double kWidth = 860, kLeft = 60, kRight = 20, kLine = 20, kCharacter = 7.2, kMargin = 12;
/// What follows the size in each picture.
constexpr const char* kFirstLines =
    " font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n";
constexpr double kLeastHeight = 110, kMostHeight = 320, kHeightOfGpu = 26;
/// Okabe and Ito's (jfly.uni-koeln.de/color), and black or white text that can be read on each.
constexpr std::array<std::pair<const char*, const char*>, 7> kColours{{{"#0072B2", "#FFFFFF"},
                                                                       {"#D55E00", "#FFFFFF"},
                                                                       {"#009E73", "#FFFFFF"},
                                                                       {"#CC79A7", "#000000"},
                                                                       {"#E69F00", "#000000"},
                                                                       {"#56B4E9", "#000000"},
                                                                       {"#F0E442", "#000000"}}};

std::string text(double x, double y, const std::string& content, const std::string& more = {}) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, escaped(content));
}

/// 1, 2 or 5 times a power of ten, of which about five make `most`.
double step_of(double most) {
  const double power = std::pow(10, std::floor(std::log10(most / 5)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= most / 5) return factor * power;
  return 10 * power;
}

/// The chart of one plan with an allocation.
class Chart {
 public:
  Chart(const Plan& plan, double top) : plan_(plan), num_gpus_(plan.problem.machine.gpus()), top_(top) {
    height_ = std::clamp(num_gpus_ * kHeightOfGpu, kLeastHeight, kMostHeight);
    for (const ScheduleEntry& entry : plan.allocation->schedule)
      end_s_ = std::max({end_s_, entry.start_s, std::isfinite(entry.end_s) ? entry.end_s : 0});
    has_times_ = end_s_ > 0;
    if (!has_times_) end_s_ = 1;  // nothing is known to end
  }

  double bottom() const { return top_ + height_ + 2 * kLine; }

  std::string svg() const {
    std::string out = axes();
    for (const GpuBlock& block : gpu_blocks(plan_.allocation->schedule, num_gpus_))
      out += bar(block);
    return out;
  }

 private:
  double x_of(double seconds) const { return kLeft + (kWidth - kLeft - kRight) * std::min(seconds / end_s_, 1.0); }
  double y_of(int gpu) const { return top_ + height_ * gpu / num_gpus_; }

  std::string axes() const {
    std::string out = fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"#F2F2F2\"/>\n",
                                  kLeft, top_, kWidth - kLeft - kRight, height_);
    const std::string to_the_left = " text-anchor=\"end\"", centred = " text-anchor=\"middle\"";
    out += text(kLeft - 8, y_of(0) + 12, "GPU 0", to_the_left);
    if (num_gpus_ > 1) out += text(kLeft - 8, y_of(num_gpus_), fmt::format("{}", num_gpus_ - 1), to_the_left);
    const double step = step_of(end_s_);
    for (int i = 0; has_times_ && i * step <= end_s_ * (1 + 1e-9); ++i) {
      const double x = x_of(i * step);
      out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#808080\"/>\n", x,
                         top_ + height_, top_ + height_ + 4);
      out += text(x, top_ + height_ + 18, significant(i * step, 4) + (i == 0 ? " s" : ""), centred);
    }
    return out;
  }

  std::string when(const GpuBlock& block) const {
    const ScheduleEntry& entry = plan_.allocation->schedule[block.entry];
    if (!std::isfinite(entry.end_s)) return fmt::format("from {:.1f} s", entry.start_s);
    const std::optional<Interval>& end = plan_.intervals.ends[block.entry];
    return fmt::format("{:.1f}-{:.1f} s", entry.start_s, entry.end_s) +
           (end ? fmt::format(" (its end: {:.1f}-{:.1f} s)", end->low, end->high) : "");
  }

  std::string bar(const GpuBlock& block) const {
    const ScheduleEntry& entry = plan_.allocation->schedule[block.entry];
    const auto& [colour, ink] = kColours[entry.task % kColours.size()];
    const double x = x_of(entry.start_s), y = y_of(block.first);
    const double width = x_of(entry.end_s) - x, height = y_of(block.first + block.count) - y;
    const std::string& name = plan_.problem.tasks[entry.task].name;
    std::string out = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#FFFFFF\" "
        "stroke-width=\"0.8\"><title>{}</title></rect>\n",
        x, y, width, height, colour, escaped(fmt::format("{}: {}, {}", name, counted(entry.gpus, "GPU"), when(block))));
    // A bar too small for its name still has it in its title, which browsers show at the pointer, and in the legend.
    if (width > kCharacter * static_cast<double>(name.size()) + 6 && height > 14)
      out += text(x + 5, y + height / 2 + 5, name, fmt::format(" fill=\"{}\"", ink));
    return out;
  }

  const Plan& plan_;
  int num_gpus_;
  double top_, height_ = 0, end_s_ = 0;
  bool has_times_ = true;
};

/// Names of the tasks next to their colours; sets `y` to where it ends.
std::string legend(const AllocationProblem& problem, double& y) {
  std::string out;
  double x = kMargin;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    const double width = 30 + kCharacter * static_cast<double>(problem.tasks[i].name.size());
    if (x > kMargin && x + width > kWidth - kMargin) {
      x = kMargin;
      y += kLine;
    }
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, y - 11,
                       kColours[i % kColours.size()].first);
    out += text(x + 17, y, problem.tasks[i].name);
    x += width;
  }
  y += 1.5 * kLine;
  return out;
}

}  // namespace

// By the first lines as plan_svg() writes them: a picture of another origin under that name is not overwritten.
bool is_plan_svg(const std::string& path) {
  return content_says(path, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kFirstLines);
}

std::string plan_svg(const std::vector<Plan>& plans) {
  std::string body;
  double y = kMargin + kLine;
  if (!plans.empty()) body += legend(plans.front().problem, y);
  for (const Plan& plan : plans) {
    body += text(kMargin, y, plan_title(plan), " font-weight=\"bold\"");
    y += kLine;
    if (!plan.allocation) continue;
    const Chart chart(plan, y - 8);
    body += chart.svg();
    y = chart.bottom() + kLine;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\"{2}",
             kWidth, y, kFirstLines) +
         body + "</svg>\n";
}

}  // namespace multicard
