// Low-rank parts of matrices whose singular values are known: made of orthogonal vectors.
#include "lib/Formats/HuggingFace/PrincipalPart.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt::huggingface;

namespace {

using Matrix = std::vector<float>;

/// Column `k` of the orthonormal basis of the discrete cosine transform.
double cosine(int64_t i, int64_t k, int64_t size) {
  return std::sqrt((k ? 2.0 : 1.0) / double(size)) * std::cos(M_PI * (double(i) + 0.5) * double(k) / double(size));
}

/// The sum of values[k] u_k v_k^T over the first `count`.
Matrix make(int64_t rows, int64_t columns, const std::vector<double> &values, size_t count) {
  Matrix matrix(size_t(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (size_t k = 0; k < count; ++k)
        sum += values[k] * cosine(i, int64_t(k), rows) * cosine(j, int64_t(k), columns);
      matrix[size_t(i * columns + j)] = float(sum);
    }
  return matrix;
}

Matrix product(const LowRankPart &part, int64_t rows, int64_t columns) {
  EXPECT_EQ(int64_t(part.left.size()), rows * part.rank);
  EXPECT_EQ(int64_t(part.right.size()), part.rank * columns);
  Matrix result(size_t(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < part.rank; ++k)
      for (int64_t j = 0; j < columns; ++j)
        result[size_t(i * columns + j)] += part.left[size_t(i * part.rank + k)] * part.right[size_t(k * columns + j)];
  return result;
}

void expectNear(const Matrix &found, const Matrix &wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], tolerance) << i;
}

TEST(PrincipalPart, TallWideAndSquare) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{90, 70}, {70, 90}, {64, 64}, {1, 5}, {5, 1}}) {
    std::vector<double> values;
    for (int64_t k = 0; k < std::min(rows, columns); ++k)
      values.push_back(3 * std::pow(0.97, double(k))); // neighbors are close: the iteration has to go on
    const Matrix matrix = make(rows, columns, values, values.size());
    for (size_t rank : {size_t(1), size_t(7), size_t(200)}) {
      const LowRankPart part = principalPart(matrix, rows, columns, int64_t(rank));
      const size_t own = std::min(rank, values.size());
      EXPECT_EQ(part.rank, int64_t(own));
      expectNear(product(part, rows, columns), make(rows, columns, values, own), 2e-5);
    }
  }
}

TEST(PrincipalPart, MatricesOfLowerRank) {
  const Matrix few = make(40, 30, {5, 2, 1}, 3);
  expectNear(product(principalPart(few, 40, 30, 2), 40, 30), make(40, 30, {5, 2, 1}, 2), 1e-6);
  expectNear(product(principalPart(few, 40, 30, 9), 40, 30), few, 1e-6);
  const Matrix zero(40 * 30);
  expectNear(product(principalPart(zero, 40, 30, 4), 40, 30), zero, 0);
}

TEST(PrincipalPart, LeadingColumns) {
  const Matrix matrix = {3, 1, 2, 4, 5, -1}; // the first column is (3, 4) / 5 times 5
  const LowRankPart part = leadingColumnsPart(matrix, 2, 3, 1);
  expectNear(product(part, 2, 3), {3, 2.76f, 0.24f, 4, 3.68f, 0.32f}, 1e-5);
  expectNear(product(leadingColumnsPart(matrix, 2, 3, 5), 2, 3), matrix, 1e-6);
}

} // namespace
