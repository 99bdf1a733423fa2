#include "scheduling/rates/LinearInterpolation.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

/// A grid, of which Delaunay triangulations are many, with values linear in the point.
LinearInterpolation on_grid() {
  std::vector<SpacePoint> points;
  std::vector<LinearInterpolation::Values> values;
  for (const double x : {0.0, 1.0, 2.0, 4.0})
    for (const double y : {0.0, 3.0, 4.0})
      for (const double z : {1.0, 2.0, 8.0}) {
        points.push_back({x, y, z});
        values.push_back({1 + 2 * x - y + 0.5 * z, z - x});
      }
  return {points, values};
}

TEST(LinearInterpolation, IsExactForLinearValues) {
  const LinearInterpolation between = on_grid();

  for (const double x : {0.0, 0.3, 1.0, 2.7, 4.0})
    for (const double y : {0.0, 1.6, 3.0, 3.9})
      for (const double z : {1.0, 1.5, 5.0, 8.0}) {
        const auto values = between.at({x, y, z});
        ASSERT_TRUE(values.has_value()) << x << ' ' << y << ' ' << z;
        EXPECT_NEAR((*values)[0], 1 + 2 * x - y + 0.5 * z, 1e-12);
        EXPECT_NEAR((*values)[1], z - x, 1e-12);
      }
}

TEST(LinearInterpolation, HasNoValueOutsideTheHull) {
  const LinearInterpolation between = on_grid();
  const LinearInterpolation corner({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.1, 0.1, 0.1}},
                                   {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {1.6, 0}});

  EXPECT_FALSE(between.at({-0.1, 0, 1}));
  EXPECT_FALSE(between.at({0, 0, 8.001}));
  EXPECT_FALSE(corner.at({0.5, 0.5, 0.5}));
  EXPECT_TRUE(corner.at({0.2, 0.2, 0.2}));
}

TEST(LinearInterpolation, NeedsPointsThatSpanTheSpace) {
  const std::vector<SpacePoint> flat{{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {2, 3, 1}, {5, 1, 1}};
  const std::vector<SpacePoint> few{{0, 0, 1}, {1, 0, 1}};

  EXPECT_THROW(LinearInterpolation(flat, std::vector<LinearInterpolation::Values>(6)), DataError);
  EXPECT_THROW(LinearInterpolation(few, std::vector<LinearInterpolation::Values>(2)), DataError);
}

}  // namespace
}  // namespace multicard
