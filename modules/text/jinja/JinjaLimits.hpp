#pragma once
/// \file What a rendering may take, so that a hostile template comes to an end.

#include "text/jinja/Jinja.hpp"

namespace multicard {

/// Steps, bytes in values, bytes of text, and recursion. \throws JinjaError beyond one of them
class JinjaLimits {
 public:
  /// Bounds the recursion of a rendering.
  class Level {
   public:
    explicit Level(JinjaLimits& limits) : limits_(limits) {
      constexpr int kDeepest = 1500;
      if (++limits_.num_levels_ > kDeepest) throw JinjaError("the template calls itself too deeply");
    }
    ~Level() { --limits_.num_levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    JinjaLimits& limits_;
  };

  /// In proportion to the weight of the variables.
  explicit JinjaLimits(std::size_t weight)
      : most_steps_((std::size_t{1} << 20) + 16 * weight),
        most_spent_((std::size_t{128} << 20) + 64 * weight),
        longest_((std::size_t{16} << 20) + 16 * weight) {}

  void step() {
    if (++num_steps_ > most_steps_) throw JinjaError("the template takes too many steps");
  }
  void spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > most_spent_) throw JinjaError("the template makes values that are too large");
  }
  void require_length(std::size_t bytes) const {
    if (bytes > longest_) throw JinjaError("the rendered text is too long");
  }
  /// About the steps so far; 512 bytes take as long as one.
  std::size_t work() const { return num_steps_ + spent_ / 512; }

 private:
  int num_levels_ = 0;
  std::size_t num_steps_ = 0, spent_ = 0;
  std::size_t most_steps_, most_spent_, longest_;
};

}  // namespace multicard
