//===- ParameterScope.cpp - The weights of a part of a model --------------------===//
#include "lib/Import/Module/ParameterScope.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

void ParameterScope::add(const std::string &symbol, const std::string &tensor, std::vector<int64_t> shape,
                         Init init) const {
  if (stack)
    parameters.addStacked(*stack, symbols + symbol, tensors + tensor, std::move(shape), init);
  else
    parameters.add(symbols + symbol, tensors + tensor, std::move(shape), init);
}

void ParameterScope::add(const std::string &name, std::vector<int64_t> shape, Init init) const {
  add(name, name, std::move(shape), init);
}

void ParameterScope::dense(const std::string &part, int64_t out, int64_t in, bool hasBias) const {
  add(part + ".weight", {out, in}, Init::weight(in));
  if (hasBias)
    add(part + ".bias", {out}, Init::bias());
}
