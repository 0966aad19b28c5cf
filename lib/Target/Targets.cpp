//===- Targets.cpp - The targets -----------------------------------------------------===//
#include "lib/Target/Targets.h"

using namespace rapt;

#define RAPT_TARGET(name)                                                                                              \
  namespace rapt::name {                                                                                               \
  const Target &target();                                                                                              \
  }
#include "lib/Target/Targets.def"

llvm::ArrayRef<const Target *> rapt::allTargets() {
  static const Target *const targets[] = {
#define RAPT_TARGET(name) &name::target(),
#include "lib/Target/Targets.def"
  };
  return targets;
}

const Target *rapt::targetNamed(llvm::StringRef name) {
  const auto *found = llvm::find_if(allTargets(), [&](const Target *target) { return target->name() == name; });
  return found == allTargets().end() ? nullptr : *found;
}
