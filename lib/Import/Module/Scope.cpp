//===- Scope.cpp - Where the ops of a module are emitted ------------------===//
#include "lib/Import/Module/Scope.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

Location Scope::at(StringRef part) const { return NameLoc::get(builder.getStringAttr(path + part)); }

Value Scope::weight(StringRef symbol) const {
  return parameters.read(builder, at(symbol), (symbols + symbol).str(), layer);
}

bool Scope::has(StringRef symbol) const { return parameters.contains((symbols + symbol).str(), layer); }
