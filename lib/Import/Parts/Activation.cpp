//===- Activation.cpp ----------------------------------------------------------===//
#include "lib/Import/Parts/Activation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

constexpr std::string_view leaky = "leaky_relu";

Activation importing::readActivation(huggingface::ConfigReader &reader, const char *usual) {
  std::vector<std::string_view> names(activationNames().begin(), activationNames().end());
  names.push_back(leaky);
  const std::string name = reader.getEnum("activation", names, usual);
  if (name != leaky)
    return {activationNamed(name)};
  return {attn::ActivationKind::relu, reader.getFloat("negative_slope", 0, 1, 0.01)}; // PyTorch's default
}

Value importing::activate(const Scope &scope, Location loc, Value result, const Activation &activation) {
  if (!activation.slope)
    return attn::ActivationOp::create(scope.builder, loc, activation.kind, result);
  mapResult(scope, result, [&](const Scope &inner, Location at, Value x) -> Value {
    Value less = arith::MulFOp::create(inner.builder, at, x, constant(inner, at, *activation.slope));
    return arith::MaximumFOp::create(inner.builder, at, x, less); // as the slope is at most 1
  });
  return result;
}
