//===- PrincipalPart.h - Low-rank parts of a matrix -------------------------===//
//
// Some adapters start from a part of the weight that they change: PiSSA (Meng et al. 2024) from
// its largest singular values, OLoRA (Buyukakyuz 2024) from the first columns of its QR
// decomposition. The base model they are trained with lacks that part.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace rapt::huggingface {

/// left [rows, rank] times right [rank, columns], row-major.
struct LowRankPart {
  int64_t rank = 0;
  std::vector<float> left, right;
};

/// The part of a row-major `matrix` with finite elements that its `rank` largest singular values make. `rank` is at
/// least 1; where the matrix has fewer singular values, the part is the matrix. Computed in f64 by Lanczos
/// bidiagonalization with full reorthogonalization (Golub and Kahan 1965): the time grows with the rank, not with the
/// smaller side of the matrix as that of a full decomposition does.
LowRankPart principalPart(std::span<const float> matrix, int64_t rows, int64_t columns, int64_t rank);

/// The part Q_r R_r of the decomposition matrix = Q R, of the first `rank` columns of Q and rows of R: the projection
/// of the matrix onto its first columns.
LowRankPart leadingColumnsPart(std::span<const float> matrix, int64_t rows, int64_t columns, int64_t rank);

} // namespace rapt::huggingface
