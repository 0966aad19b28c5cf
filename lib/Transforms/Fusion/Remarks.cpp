//===- Remarks.cpp - Why a fusion rule did or did not fire --------------------------------===//
#include "lib/Transforms/Fusion/Remarks.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

static remark::RemarkOpts optionsOf(llvm::StringLiteral rule) {
  return remark::RemarkOpts::name(rule).category(rapt::kFusionCategory);
}

void rapt::remarkFused(Location location, llvm::StringLiteral rule, const llvm::Twine &what) {
  if (location->getContext()->getRemarkEngine())
    remark::passed(location, optionsOf(rule)) << remark::detail::Remark::Arg("Fused", what.str());
}

void rapt::remarkNotFused(Location location, llvm::StringLiteral rule, const llvm::Twine &why) {
  if (location->getContext()->getRemarkEngine())
    remark::missed(location, optionsOf(rule)) << remark::detail::Remark::Arg("Reason", why.str());
}

void rapt::remarkNeutral(Location location, const llvm::Twine &why) {
  remarkNotFused(location, "schedule", "its neutral decomposition is compiled, since " + why);
}

llvm::StringRef rapt::nameOf(Location location) {
  auto name = location->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : llvm::StringRef();
}
