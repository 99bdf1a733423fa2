#pragma once
/// \file How the weights of linear layers are stored.

namespace multicard {

/// Whether the scales of 4-bit weights are quantised too: 4.127 instead of 4.5 bits an element.
enum class DoubleQuantisation { off, on };

/// How the weights of a network's linear layers, but not lm_head, are stored.
struct WeightFormat {
  enum class Kind { dense, nf4 };
  Kind kind = Kind::dense;
  DoubleQuantisation nested = DoubleQuantisation::on;  ///< of nf4

  bool is_quantised() const { return kind != Kind::dense; }
};

}  // namespace multicard
