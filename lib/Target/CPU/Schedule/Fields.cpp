//===- Fields.cpp - Reads a schedule from its attribute -------------------------------===//
#include "lib/Target/CPU/Schedule/Fields.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

int64_t ScheduleReader::note(StringRef name, int64_t value, bool isNeeded) {
  names.push_back(name);
  if (value > 0 || !first.empty())
    return value;
  if (from.getEntries().contains(name))
    first = "whose '" + name.str() + "' has another form";
  else if (isNeeded)
    first = "without '" + name.str() + "'";
  return value;
}

std::string ScheduleReader::fault() const {
  if (!first.empty())
    return first;
  for (NamedAttribute entry : from.getEntries())
    if (!llvm::is_contained(names, entry.getName().getValue()))
      return "with '" + entry.getName().str() + "', which it has no use for";
  return "";
}
