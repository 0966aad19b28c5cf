//===- Walk.cpp - Weights and ops of a part in one walk ------------------------===//
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Parts/Blocks.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using artifact::Reshape;
using huggingface::Init;

void importing::addMatmul(const ParameterScope &scope, const MatmulSpec &spec) {
  const std::string stem = spec.stem.empty() ? spec.part + "." : spec.stem;
  auto add = [&](const std::string &name, const std::vector<int64_t> &columns, Init init) {
    auto withColumns = [&](std::vector<int64_t> shape) {
      shape.insert(shape.end(), columns.begin(), columns.end());
      return shape;
    };
    const std::string symbol = spec.part + "." + name;
    if (!spec.rows)
      return scope.add(symbol, stem + name, withColumns({spec.out}), init);
    const std::vector<int64_t> &groups = spec.rows->groups;
    scope.parameters.addTransformed(
        scope.symbols + symbol,
        {scope.tensors + stem + name,
         withColumns({llvm::product_of(groups)}),
         {Reshape{withColumns(groups)}, spec.rows->slice, Reshape{withColumns({spec.out})}}},
        init, scope.stack);
  };
  const Init init = spec.init.value_or(Init::weight(spec.in));
  if (spec.isConv1D) {
    scope.add(spec.part + ".weight", stem + "weight", {spec.in, spec.out}, init);
    scope.parameters.markConv1D();
  } else {
    add("weight", {spec.in}, init);
  }
  if (spec.hasBias)
    add("bias", {}, Init::bias());
}

void importing::addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width) {
  if (part.empty())
    return;
  const std::string weight = part + "." + scope.norm[0];
  if (norm.isAroundOne)
    scope.parameters.addTransformed(scope.symbols + part + ".weight",
                                    {scope.tensors + weight, {width}, {artifact::Add{1}}}, Init::bias(), scope.stack);
  else if (norm.hasWeight)
    scope.add(part + ".weight", weight, {width}, Init::normWeight());
  if (norm.hasBias)
    scope.add(part + ".bias", part + "." + scope.norm[1], {width}, Init::bias());
}

void Walk::declareLast(ArrayRef<std::string> parts, llvm::function_ref<void()> body) const {
  const size_t first = weights ? weights->parameters.count() : 0;
  body();
  for (const std::string &part : parts)
    if (weights)
      weights->parameters.moveLast(first, weights->symbols + part);
}

Value Walk::matmul(Value x, const MatmulSpec &spec) const {
  declare([&](const ParameterScope &weights) { addMatmul(weights, spec); });
  return emit(
      [&](const Scope &scope) { return spec.isConv1D ? linear(scope, x, spec.part) : dense(scope, x, spec.part); });
}

Value Walk::norm(Value x, const std::string &part, const NormSpec &norm, int64_t width) const {
  if (part.empty())
    return x;
  declare([&](const ParameterScope &weights) { addNorm(weights, part, norm, width); });
  return emit([&](const Scope &scope) { return normalize(scope, x, part, norm); });
}

Value Walk::embed(Value ids, const std::string &part, int64_t rows, int64_t columns, int64_t begin) const {
  declare([&](const ParameterScope &weights) {
    weights.parameters.addTransformed(
        weights.symbols + part,
        {weights.tensors + part + ".weight", {rows, columns}, {artifact::Slice{0, begin, rows}}}, Init::embedding());
  });
  return emit([&](const Scope &scope) -> Value { return importing::embed(scope, ids, part); });
}

Value Walk::splitHeads(Value x, StringRef part, int64_t heads) const {
  return emit([&](const Scope &scope) { return importing::splitHeads(scope, scope.at(part), x, heads); });
}
