//===- PrincipalPart.cpp - Low-rank parts of a matrix -----------------------===//
#include "lib/Formats/HuggingFace/PrincipalPart.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace rapt;
using namespace rapt::huggingface;

namespace {

using Vector = std::vector<double>;

/// The dot product, in partial sums that vectorize.
template <typename Number> double dot(std::span<const Number> a, std::span<const double> b) {
  constexpr size_t lanes = 16;
  std::array<double, lanes> sums{};
  size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += double(a[i + lane]) * b[i + lane];
  for (; i < a.size(); ++i)
    sums[0] += double(a[i]) * b[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double dot(const Vector &a, const Vector &b) { return dot(std::span<const double>(a), std::span<const double>(b)); }

void addMultiple(Vector &y, double factor, const Vector &x) {
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += factor * x[i];
}

double normalize(Vector &x) {
  const double norm = std::sqrt(dot(x, x));
  for (double &element : x)
    element /= norm > 0 ? norm : 1;
  return norm;
}

/// Removes from `x` its part in the span of the orthonormal `basis`; twice, as once leaves what rounding adds.
void orthogonalize(Vector &x, const std::vector<Vector> &basis) {
  for (int pass = 0; pass < 2; ++pass)
    for (const Vector &direction : basis)
      addMultiple(x, -dot(direction, x), direction);
}

/// Numbers in [-1, 1) of the generator splitmix64: the same on every machine.
class Directions {
public:
  Vector next(size_t size) {
    Vector result(size);
    for (double &element : result) {
      uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      element = double(int64_t(z ^ (z >> 31))) * 0x1p-63;
    }
    return result;
  }

private:
  uint64_t state = 0;
};

/// A matrix [rows, columns], rows >= columns: the transpose of the one that is stored where that one is wide.
class Tall {
public:
  Tall(std::span<const float> stored, int64_t storedRows, int64_t storedColumns)
      : stored(stored), storedColumns(size_t(storedColumns)), isTransposed(storedRows < storedColumns),
        rows(size_t(std::max(storedRows, storedColumns))), columns(size_t(std::min(storedRows, storedColumns))) {}

  Vector times(const Vector &x) const { return isTransposed ? combineRows(x) : dotRows(x); }
  Vector transposeTimes(const Vector &x) const { return isTransposed ? dotRows(x) : combineRows(x); }

private:
  Vector dotRows(const Vector &x) const {
    Vector result(stored.size() / storedColumns);
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = dot(stored.subspan(i * storedColumns, storedColumns), std::span<const double>(x));
    return result;
  }

  Vector combineRows(const Vector &x) const {
    Vector result(storedColumns);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < storedColumns; ++j)
        result[j] += x[i] * double(stored[i * storedColumns + j]);
    return result;
  }

  std::span<const float> stored;
  size_t storedColumns;

public:
  const bool isTransposed;
  const size_t rows, columns;
};

/// Singular values in falling order, with the left and right vectors of each.
struct Decomposition {
  Vector values;
  std::vector<Vector> left, right;
};

/// One-sided Jacobi: rotates pairs of columns until all are orthogonal (Hestenes 1958).
Decomposition decompose(std::vector<Vector> columns) {
  const size_t size = columns.size();
  std::vector<Vector> right(size, Vector(size)); // column i
  for (size_t i = 0; i < size; ++i)
    right[i][i] = 1;
  constexpr int mostSweeps = 60;
  constexpr double tolerance = 1e-15;
  bool isRotated = true;
  for (int sweep = 0; sweep < mostSweeps && isRotated; ++sweep) {
    isRotated = false;
    for (size_t p = 0; p + 1 < size; ++p)
      for (size_t q = p + 1; q < size; ++q) {
        const double pp = dot(columns[p], columns[p]), qq = dot(columns[q], columns[q]),
                     pq = dot(columns[p], columns[q]);
        if (std::abs(pq) <= tolerance * std::sqrt(pp * qq))
          continue;
        isRotated = true;
        const double zeta = (qq - pp) / (2 * pq),
                     tangent = std::copysign(1, zeta) / (std::abs(zeta) + std::hypot(1, zeta)),
                     cosine = 1 / std::hypot(1, tangent), sine = cosine * tangent;
        for (std::vector<Vector> *vectors : {&columns, &right})
          for (size_t i = 0; i < size; ++i) {
            double &a = (*vectors)[p][i], &b = (*vectors)[q][i];
            const double old = a;
            a = cosine * old - sine * b;
            b = sine * old + cosine * b;
          }
      }
  }
  Vector norms(size);
  for (size_t i = 0; i < size; ++i)
    norms[i] = normalize(columns[i]);
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(norms[b], a) < std::pair(norms[a], b); });
  Decomposition result;
  for (size_t i : order) {
    result.values.push_back(norms[i]);
    result.left.push_back(std::move(columns[i]));
    result.right.push_back(std::move(right[i]));
  }
  return result;
}

/// Orthonormal bases U and V, and an upper bidiagonal B with matrix V = U B, which grows by a column at a time.
class Bidiagonalization {
public:
  explicit Bidiagonalization(const Tall &matrix) : matrix(matrix) { addDirection(v, directions.next(matrix.columns)); }

  size_t size() const { return u.size(); }
  bool isComplete() const { return size() == matrix.columns; }

  void grow() {
    Vector next = matrix.times(v.back());
    diagonal.push_back(addDirection(u, std::move(next)));
    if (!isComplete())
      beside.push_back(addDirection(v, matrix.transposeTimes(u.back())));
  }

  Decomposition decomposeInner() const {
    std::vector<Vector> columns(size(), Vector(size()));
    for (size_t i = 0; i < size(); ++i) {
      columns[i][i] = diagonal[i];
      if (i > 0)
        columns[i][i - 1] = beside[i - 1];
    }
    return decompose(std::move(columns));
  }

  /// Whether the first `rank` singular vectors are those of the matrix: by the norms of the residuals.
  bool hasConverged(const Decomposition &inner, size_t rank) const {
    constexpr double tolerance = 1e-11;
    if (isComplete())
      return true;
    for (size_t i = 0; i < rank; ++i)
      if (beside.back() * std::abs(inner.left[i].back()) > tolerance * inner.values[0])
        return false;
    return true;
  }

  static Vector combine(const std::vector<Vector> &basis, const Vector &weights) {
    Vector result(basis.front().size());
    for (size_t i = 0; i < weights.size(); ++i)
      addMultiple(result, weights[i], basis[i]);
    return result;
  }

  std::vector<Vector> u, v;

private:
  /// Adds what `x` has outside of the span of the basis, and returns its norm; where that is rounding, another
  /// direction, and 0.
  double addDirection(std::vector<Vector> &basis, Vector x) {
    constexpr double rounding = 1e-14;
    const double whole = std::sqrt(dot(x, x));
    orthogonalize(x, basis);
    double norm = normalize(x);
    largest = std::max(largest, whole);
    if (norm <= rounding * largest || norm == 0) {
      do {
        x = directions.next(x.size());
        orthogonalize(x, basis);
      } while (normalize(x) < 1e-6);
      norm = 0;
    }
    basis.push_back(std::move(x));
    return norm;
  }

  const Tall &matrix;
  Directions directions;
  double largest = 0;
  Vector diagonal, beside;
};

} // namespace

/// Rows of `left` times `scale` beside one another as columns, and rows of `right`, as f32.
static LowRankPart partOf(const std::vector<Vector> &left, const std::vector<Vector> &right) {
  LowRankPart part{int64_t(left.size()), {}, {}};
  for (size_t i = 0; i < left.front().size(); ++i)
    for (const Vector &column : left)
      part.left.push_back(float(column[i]));
  for (const Vector &row : right)
    part.right.insert(part.right.end(), row.begin(), row.end());
  return part;
}

LowRankPart huggingface::principalPart(std::span<const float> stored, int64_t rows, int64_t columns, int64_t rank) {
  const Tall matrix(stored, rows, columns);
  const size_t count = std::min(size_t(rank), matrix.columns);
  Bidiagonalization outer(matrix);
  Decomposition inner;
  for (size_t steps = 2 * count + 16;; steps += steps / 2) {
    while (outer.size() < steps && !outer.isComplete())
      outer.grow();
    inner = outer.decomposeInner();
    if (outer.hasConverged(inner, count))
      break;
  }
  std::vector<Vector> left, right;
  for (size_t i = 0; i < count; ++i) {
    left.push_back(Bidiagonalization::combine(outer.u, inner.left[i]));
    right.push_back(Bidiagonalization::combine(outer.v, inner.right[i]));
    if (matrix.isTransposed)
      left.back().swap(right.back());
    for (double &element : left.back())
      element *= inner.values[i];
  }
  return partOf(left, right);
}

LowRankPart huggingface::leadingColumnsPart(std::span<const float> matrix, int64_t rows, int64_t columns,
                                            int64_t rank) {
  std::vector<Vector> basis, right;
  const int64_t count = std::min({rank, rows, columns});
  for (int64_t k = 0; k < count; ++k) {
    Vector column(rows);
    for (int64_t i = 0; i < rows; ++i)
      column[size_t(i)] = matrix[size_t(i * columns + k)];
    orthogonalize(column, basis);
    normalize(column);
    basis.push_back(std::move(column));
  }
  for (const Vector &direction : basis) {
    Vector row(columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        row[size_t(j)] += direction[size_t(i)] * double(matrix[size_t(i * columns + j)]);
    right.push_back(std::move(row));
  }
  return partOf(basis, right);
}
