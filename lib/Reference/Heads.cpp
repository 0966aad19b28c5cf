//===- Heads.cpp - Columns of an activation as heads ---------------------------===//
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

template <typename S> SmallVector<Tensor<S>> evaluate(attn::SplitHeadsOp op, const Tensor<S> &input) {
  SmallVector<Tensor<S>> results;
  int64_t first = 0, tokens = input.dim(0), columns = input.dim(1);
  for (mlir::Value head : op.getHeads()) {
    auto type = cast<RankedTensorType>(head.getType());
    int64_t width = type.getDimSize(1) * type.getDimSize(2);
    Tensor<S> result{{tokens, type.getDimSize(1), type.getDimSize(2)}, std::vector<S>(tokens * width), {}};
    for (int64_t t = 0; t < tokens; ++t)
      std::copy_n(input.floats.begin() + t * columns + first, width, result.floats.begin() + t * width);
    first += width;
    results.push_back(std::move(result));
  }
  return results;
}

template <typename S> Result<S> evaluate(attn::MergeHeadsOp op, const Tensor<S> &input) {
  return Tensor<S>{{input.dim(0), input.dim(1) * input.dim(2)}, input.floats, {}};
}

#define INSTANTIATE(S)                                                                                                 \
  template SmallVector<Tensor<S>> evaluate(attn::SplitHeadsOp, const Tensor<S> &);                                     \
  template Result<S> evaluate(attn::MergeHeadsOp, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
