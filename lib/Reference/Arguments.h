//===- Arguments.h - Values of the evaluator and .npy tensors --------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Reference/Value.h"
#include "lib/Support/Npy.h"

namespace rapt::reference {

/// A value of `type` (a tensor, or a scalar from a tensor of rank 0). Floats may be f32 or f64, integers i32, i64 or
/// bool where their values fit. Errors name the tensor by `name`, with both shapes.
template <typename Scalar>
Expected<Value<Scalar>> fromNpy(llvm::StringRef name, const NpyTensor &tensor, mlir::Type type);

/// Floats have the type of `Scalar`, integers the nearest of i32, i64 and bool. A cache has no such form: an error.
template <typename Scalar> Expected<NpyTensor> toNpy(llvm::StringRef name, const Value<Scalar> &value, mlir::Type type);

/// A cache of `blocks` blocks filled with zeros.
template <typename Scalar> Expected<Value<Scalar>> makeCache(attn::KVCacheType type, int64_t blocks);

/// "[2, 3]"
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace rapt::reference
