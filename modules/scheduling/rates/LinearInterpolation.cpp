#include "scheduling/rates/LinearInterpolation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

// The C interface of the reentrant library, which cannot hide its names.
extern "C" {
#include <libqhull_r/qhull_ra.h>
}

#include "base/Error.hpp"

namespace multicard {

namespace {

constexpr double kEpsilon = 100 * std::numeric_limits<double>::epsilon();
const double kBroadEpsilon = std::sqrt(std::numeric_limits<double>::epsilon());
/// Simplices with a smaller inverse condition number count as flat.
constexpr double kLeastCondition = 1000 * std::numeric_limits<double>::epsilon();

/// A run of Qhull. What it says of wrong input goes nowhere: callers know more.
struct Hull {
  Hull() { qh_zero(&state, messages); }
  ~Hull() {
    qh_freeqhull(&state, qh_ALL);
    int num_bytes = 0, num_pieces = 0;
    qh_memfreeshort(&state, &num_bytes, &num_pieces);
    if (messages != nullptr) static_cast<void>(std::fclose(messages));
  }
  Hull(const Hull&) = delete;
  Hull& operator=(const Hull&) = delete;
  std::FILE* messages = std::fopen("/dev/null", "w");
  qhT state{};
};

/// The largest sum of a column's absolute values.
double one_norm(const std::array<SpacePoint, 3>& matrix) {
  double norm = 0;
  for (std::size_t column = 0; column < 3; ++column)
    norm = std::max(norm, std::abs(matrix[0][column]) + std::abs(matrix[1][column]) + std::abs(matrix[2][column]));
  return norm;
}

bool is_within(double coordinate, double leeway_below) {
  return -leeway_below <= coordinate && coordinate <= 1 + kEpsilon;
}

}  // namespace

LinearInterpolation::LinearInterpolation(std::vector<SpacePoint> points, std::vector<Values> values)
    : points_(std::move(points)), values_(std::move(values)) {
  low_ = high_ = points_.at(0);
  for (const SpacePoint& point : points_)
    for (std::size_t i = 0; i < 3; ++i) {
      low_[i] = std::min(low_[i], point[i]);
      high_[i] = std::max(high_[i], point[i]);
    }
  triangulate();
  for (Simplex& simplex : simplices_)
    invert(simplex);
}

void LinearInterpolation::triangulate() {
  std::vector<double> flat;
  for (const SpacePoint& point : points_)
    flat.insert(flat.end(), point.begin(), point.end());
  const auto hull = std::make_unique<Hull>();
  qhT* qh = &hull->state;
  // As scipy.spatial.Delaunay calls it: d triangulates, Qbb scales the lifted coordinate, Qc keeps coplanar points, Qz
  // adds a point at infinity, Q12 accepts wide facets, Qt splits facets into simplices. Other options give other
  // simplices, and so other step times between the measured ones.
  char command[] = "qhull d Qbb Qc Qz Q12 Qt";
  const int failed =
      qh_new_qhull(qh, 3, static_cast<int>(points_.size()), flat.data(), False, command, nullptr, hull->messages);
  if (failed != 0)
    throw DataError("measured step times cannot be interpolated", "their points have no Delaunay triangulation",
                    "Measure at more counts of nodes, GPUs and batch sizes.");
  // The planes below are those of the scaled paraboloid (Qbb): height() must lift points in the same way.
  if (qh->SCALElast) {
    paraboloid_scale_ = qh->last_newhigh / (qh->last_high - qh->last_low);
    paraboloid_shift_ = -qh->last_low * paraboloid_scale_;
  }
  std::vector<int> numbers(qh->facet_id, kNone);
  int number = 0;
  for (const facetT* facet = qh->facet_list; facet != nullptr && facet->next != nullptr; facet = facet->next)
    // The lower side of the lifted hull is the triangulation; the other side is that of the furthest points.
    if (facet->upperdelaunay == qh->UPPERdelaunay) numbers[facet->id] = number++;
  for (const facetT* facet = qh->facet_list; facet != nullptr && facet->next != nullptr; facet = facet->next) {
    if (facet->upperdelaunay != qh->UPPERdelaunay) continue;
    Simplex& simplex = simplices_.emplace_back();
    for (std::size_t i = 0; i < 4; ++i) {
      simplex.vertices[i] = qh_pointid(qh, static_cast<vertexT*>(facet->vertices->e[i].p)->point);
      simplex.neighbours[i] = numbers[static_cast<facetT*>(facet->neighbors->e[i].p)->id];
      simplex.plane[i] = facet->normal[i];
    }
    simplex.plane[4] = facet->offset;
  }
}

// Cofactors divided by the determinant. A simplex counts as flat by its condition in the 1-norm, which is the same for
// small and large ones of one shape.
void LinearInterpolation::invert(Simplex& simplex) const {
  std::array<SpacePoint, 3> edges{};  // columns: from the last vertex to the others
  const SpacePoint& last = points_[static_cast<std::size_t>(simplex.vertices[3])];
  for (std::size_t column = 0; column < 3; ++column)
    for (std::size_t row = 0; row < 3; ++row)
      edges[row][column] = points_[static_cast<std::size_t>(simplex.vertices[column])][row] - last[row];
  double determinant = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
      simplex.inverse[i][j] = edges[a][c] * edges[b][d] - edges[a][d] * edges[b][c];
      if (i == 0) determinant += edges[j][0] * simplex.inverse[0][j];
    }
  for (SpacePoint& row : simplex.inverse)
    for (double& element : row)
      element /= determinant;
  const double condition = one_norm(edges) * one_norm(simplex.inverse);
  simplex.is_flat = determinant == 0 || !(condition * kLeastCondition <= 1);
}

double LinearInterpolation::coordinate(const Simplex& simplex, const SpacePoint& point, std::size_t index) const {
  const SpacePoint& last = points_[static_cast<std::size_t>(simplex.vertices[3])];
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i)
    sum += simplex.inverse[index][i] * (point[i] - last[i]);
  return sum;
}

LinearInterpolation::Barycentric LinearInterpolation::coordinates(const Simplex& simplex,
                                                                  const SpacePoint& point) const {
  Barycentric weights{0, 0, 0, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    weights[i] = coordinate(simplex, point, i);
    weights[3] -= weights[i];
  }
  return weights;
}

bool LinearInterpolation::is_in_box(const SpacePoint& point) const {
  for (std::size_t i = 0; i < 3; ++i)
    if (point[i] < low_[i] - kEpsilon || point[i] > high_[i] + kEpsilon) return false;
  return true;
}

/// How far the point, lifted to the paraboloid, is above the plane of the simplex.
double LinearInterpolation::height(const Simplex& simplex, const SpacePoint& point) const {
  const double lifted =
      (point[0] * point[0] + point[1] * point[1] + point[2] * point[2]) * paraboloid_scale_ + paraboloid_shift_;
  double sum = simplex.plane[4];
  for (std::size_t i = 0; i < 3; ++i)
    sum += simplex.plane[i] * point[i];
  return sum + simplex.plane[3] * lifted;
}

/// A simplex whose plane the point is above, or one with no better neighbour. Continuing from a better neighbour with
/// the next index, not from index 0, is part of the choice.
int LinearInterpolation::near(const SpacePoint& point) const {
  int at = 0;
  double best = height(simplices_[0], point);
  for (bool has_moved = true; has_moved && best <= 0;) {
    has_moved = false;
    for (std::size_t i = 0; i < 4; ++i) {
      const int neighbour = simplices_[static_cast<std::size_t>(at)].neighbours[i];
      if (neighbour == kNone) continue;
      const double distance = height(simplices_[static_cast<std::size_t>(neighbour)], point);
      if (distance > best + kEpsilon * (1 + std::abs(best))) {
        at = neighbour;
        best = distance;
        has_moved = true;
      }
    }
  }
  return at;
}

/// From near() across faces that the point is beyond, to the simplex that holds it.
int LinearInterpolation::walk(const SpacePoint& point) const {
  int at = near(point);
  // Rounding can lead the walk in circles: after this number of steps all simplices are tried.
  for (std::size_t step = 0; step < 1 + simplices_.size() / 4; ++step) {
    const Simplex& simplex = simplices_[static_cast<std::size_t>(at)];
    if (simplex.is_flat) return search_all(point);
    const Barycentric weights = coordinates(simplex, point);
    const auto beyond = std::find_if(weights.begin(), weights.end(), [](double weight) { return weight < -kEpsilon; });
    if (beyond == weights.end()) {
      const bool is_inside = std::all_of(weights.begin(), weights.end(), [](double w) { return w <= 1 + kEpsilon; });
      return is_inside ? at : search_all(point);
    }
    at = simplex.neighbours[static_cast<std::size_t>(beyond - weights.begin())];
    if (at == kNone) return kNone;
  }
  return search_all(point);
}

bool LinearInterpolation::is_adjacent_to_flat(int flat, int neighbour, const SpacePoint& point) const {
  if (neighbour == kNone || simplices_[static_cast<std::size_t>(neighbour)].is_flat) return false;
  const Simplex& simplex = simplices_[static_cast<std::size_t>(neighbour)];
  const Barycentric weights = coordinates(simplex, point);
  for (std::size_t i = 0; i < 4; ++i)
    if (!is_within(weights[i], simplex.neighbours[i] == flat ? kBroadEpsilon : kEpsilon)) return false;
  return true;
}

int LinearInterpolation::search_all(const SpacePoint& point) const {
  for (int at = 0; at < static_cast<int>(simplices_.size()); ++at) {
    const Simplex& simplex = simplices_[static_cast<std::size_t>(at)];
    if (!simplex.is_flat) {
      const Barycentric weights = coordinates(simplex, point);
      if (std::all_of(weights.begin(), weights.end(), [](double w) { return is_within(w, kEpsilon); })) return at;
      continue;
    }
    for (const int neighbour : simplex.neighbours)
      if (is_adjacent_to_flat(at, neighbour, point)) return neighbour;
  }
  return kNone;
}

std::optional<LinearInterpolation::Values> LinearInterpolation::at(const SpacePoint& point) const {
  if (!is_in_box(point)) return std::nullopt;
  const int found = walk(point);
  if (found == kNone) return std::nullopt;
  const Simplex& simplex = simplices_[static_cast<std::size_t>(found)];
  const Barycentric weights = coordinates(simplex, point);
  Values sum{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      sum[j] += weights[i] * values_[static_cast<std::size_t>(simplex.vertices[i])][j];
  return sum;
}

}  // namespace multicard
