//===- TokenConvolution.cpp - A convolution over the tokens of a text ------------===//
#include "lib/Import/TokenConvolution.h"
#include "lib/Import/SpacedRows.h"
#include "lib/Import/StackParameters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

void importing::addTokenConvolution(const ParameterScope &top, const EncoderSpec &spec) {
  const TokenConvolutionSpec &convolution = *spec.convolution;
  const std::string weight = convolution.part + ".weight";
  const int64_t columns = convolution.kernel * spec.width;
  // A window is the columns of its first token, those of the second, and so on.
  top.parameters.addTransformed(weight,
                                {top.tensors + weight,
                                 {spec.width, spec.width, convolution.kernel},
                                 {artifact::Transpose{{0, 2, 1}}, artifact::Reshape{{spec.width, columns}}}},
                                Init::weight(columns));
  top.add(convolution.part + ".bias", {spec.width}, Init::bias());
  addNorm(top, convolution.norm, spec.norm, spec.width);
}

Value importing::buildTokenConvolution(const Scope &top, const EncoderSpec &spec, Value x, Value ids, Value rowBegin) {
  const TokenConvolutionSpec &convolution = *spec.convolution;
  Location loc = top.at(convolution.part);
  const SpacedRows rows(top, loc, rowBegin, convolution.margin());
  Value spaced = attn::UpdateRowsOp::create(top.builder, loc, rows.zeros(x), /*layer=*/Value(), x,
                                            rows.ofTokens(ids, convolution.margin() / 2));
  Value windows = selectWindows(top, loc, spaced, rows.ofTokens(ids, 0), convolution.kernel);
  return attn::ActivationOp::create(top.builder, loc, convolution.activation, dense(top, windows, convolution.part));
}

Value importing::addConvolved(const Scope &scope, const EncoderSpec &spec, Value x, Value convolved) {
  const std::string &norm = spec.convolution->norm;
  Value sum = arith::AddFOp::create(scope.builder, scope.at(norm), x, convolved);
  return normalize(scope, sum, norm, spec.norm);
}
