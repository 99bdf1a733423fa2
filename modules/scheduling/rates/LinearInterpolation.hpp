#pragma once
/// \file Interpolation of values measured at scattered points.

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace multicard {

/// A point of the space that measurements are taken in.
using SpacePoint = std::array<double, 3>;

/// Linear interpolation of pairs of values over the Delaunay triangulation of scattered points. Points on a grid have
/// many Delaunay triangulations, and where neighbouring simplices split a common face differently the value on that
/// face depends on the simplex that is taken. This class makes the choices of scipy.interpolate.LinearNDInterpolator,
/// with which the published replays were computed: Qhull's options, and the walk that looks a simplex up.
class LinearInterpolation {
 public:
  using Values = std::array<double, 2>;

  /// \param points at least five, not all in one plane.
  /// \throws DataError where Qhull finds no triangulation.
  LinearInterpolation(std::vector<SpacePoint> points, std::vector<Values> values);

  /// The values at `point`; none outside the convex hull of the points.
  std::optional<Values> at(const SpacePoint& point) const;

 private:
  static constexpr int kNone = -1;

  /// A tetrahedron. The neighbour `k` is opposite the vertex `k`.
  struct Simplex {
    std::array<int, 4> vertices{};
    std::array<int, 4> neighbours{};      ///< kNone: the hull ends there
    std::array<double, 5> plane{};        ///< its hyperplane on the paraboloid: normal and offset
    std::array<SpacePoint, 3> inverse{};  ///< from a point relative to the last vertex to barycentric coordinates
    bool is_flat = false;                 ///< has no volume, and no inverse
  };
  using Barycentric = std::array<double, 4>;

  void triangulate();
  void invert(Simplex& simplex) const;
  double coordinate(const Simplex& simplex, const SpacePoint& point, std::size_t index) const;
  Barycentric coordinates(const Simplex& simplex, const SpacePoint& point) const;
  bool is_in_box(const SpacePoint& point) const;
  double height(const Simplex& simplex, const SpacePoint& point) const;
  int near(const SpacePoint& point) const;
  int walk(const SpacePoint& point) const;
  int search_all(const SpacePoint& point) const;
  bool is_adjacent_to_flat(int flat, int neighbour, const SpacePoint& point) const;

  std::vector<SpacePoint> points_;
  std::vector<Values> values_;
  std::vector<Simplex> simplices_;
  SpacePoint low_{}, high_{};
  double paraboloid_scale_ = 1, paraboloid_shift_ = 0;
};

}  // namespace multicard
