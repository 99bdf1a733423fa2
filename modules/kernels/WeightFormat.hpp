#pragma once
/// \file How the weights of linear layers are stored.

#include <cstdint>

namespace multicard {

/// Whether the scales of 4-bit weights are quantised too: 4.127 instead of 4.5 bits an element.
enum class DoubleQuantisation { off, on };

/// Whether products are computed with weights and activations as int4 and int8 stand for them.
enum class FakeQuantisation { off, on };

/// How the weights of a network's linear layers, but not lm_head, are stored.
struct WeightFormat {
  /// fake_int4: as dense ones, multiplied as int4 stands for them, with activations as int8 does (8da4w); int4: packed,
  /// with such activations.
  enum class Kind { dense, nf4, fake_int4, int4 };
  Kind kind = Kind::dense;
  DoubleQuantisation nested = DoubleQuantisation::on;  ///< of nf4
  std::int64_t group_size = 256;                       ///< of fake_int4 and int4: weights of a row that share a scale

  /// Whether they are packed: not tensors of their values.
  bool is_quantised() const { return kind == Kind::nf4 || kind == Kind::int4; }
  /// Whether they have group_size.
  bool has_groups() const { return kind == Kind::fake_int4 || kind == Kind::int4; }
};

}  // namespace multicard
