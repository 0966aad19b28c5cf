//===- TokenConvolution.cpp - A convolution over the tokens of a text ------------===//
#include "lib/Import/Parts/TokenConvolution.h"
#include "lib/Import/Parts/PackedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

Value importing::walkTokenConvolution(const Walk &walk, const StackSpec &stack, const TokenConvolutionSpec &spec,
                                      Value x, Value ids, Value rowBegin) {
  walk.declare([&](const ParameterScope &top) {
    const std::string weight = spec.part + ".weight";
    const int64_t columns = spec.kernel * stack.width;
    // A window is the columns of its first token, those of the second, and so on.
    top.parameters.addTransformed(weight,
                                  {top.tensors + weight,
                                   {stack.width, stack.width, spec.kernel},
                                   {artifact::Transpose{{0, 2, 1}}, artifact::Reshape{{stack.width, columns}}}},
                                  Init::weight(columns));
    top.add(spec.part + ".bias", {stack.width}, Init::bias());
    addNorm(top, spec.norm, stack.norm, stack.width);
  });
  return walk.emit([&](const Scope &top) {
    Location loc = top.at(spec.part);
    const SpacedRows rows(top, loc, rowBegin, spec.margin());
    Value spaced = attn::UpdateRowsOp::create(top.builder, loc, rows.zeros(x), /*layer=*/Value(), x,
                                              rows.ofTokens(ids, spec.margin() / 2));
    Value windows = selectWindows(top, loc, spaced, rows.ofTokens(ids, 0), spec.kernel);
    return attn::ActivationOp::create(top.builder, loc, spec.activation, dense(top, windows, spec.part));
  });
}

Value importing::addConvolved(const Scope &scope, const StackSpec &stack, const TokenConvolutionSpec &spec, Value x,
                              Value convolved) {
  Value sum = arith::AddFOp::create(scope.builder, scope.at(spec.norm), x, convolved);
  return normalize(scope, sum, spec.norm, stack.norm);
}
