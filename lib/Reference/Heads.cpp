//===- Heads.cpp - Columns of an activation as heads ---------------------------===//
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

template <typename S> SmallVector<Tensor<S>> evaluate(attn::SplitHeadsOp op, const Tensor<S> &input) {
  SmallVector<Tensor<S>> results;
  int64_t first = 0, tokens = input.dim(0), columns = input.dim(1);
  for (mlir::Value head : op.getHeads()) {
    auto type = cast<RankedTensorType>(head.getType());
    ArrayRef<int64_t> heads = type.getShape().drop_front();
    int64_t width = llvm::product_of(heads);
    Tensor<S> result{{tokens}, std::vector<S>(tokens * width), {}};
    llvm::append_range(result.shape, heads);
    for (int64_t t = 0; t < tokens; ++t)
      std::copy_n(input.floats.begin() + t * columns + first, width, result.floats.begin() + t * width);
    first += width;
    results.push_back(std::move(result));
  }
  return results;
}

template <typename S> Result<S> evaluate(attn::MergeHeadsOp op, const Tensor<S> &input) {
  int64_t columns = llvm::product_of(ArrayRef<int64_t>(input.shape).drop_front());
  return Tensor<S>{{input.dim(0), columns}, input.floats, {}};
}

#define INSTANTIATE(S)                                                                                                 \
  template SmallVector<Tensor<S>> evaluate(attn::SplitHeadsOp, const Tensor<S> &);                                     \
  template Result<S> evaluate(attn::MergeHeadsOp, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
