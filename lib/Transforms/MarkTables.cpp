//===- MarkTables.cpp - Parameters of which few rows are read -------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/ReadByRows.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNMARKTABLES
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {
bool isLookUp(Operation *user) {
  auto op = dyn_cast<attn::ChannelsOpInterface>(user);
  return op && op.getRowAccess() == attn::RowAccess::gather;
}

struct MarkTables : rapt::impl::AttnMarkTablesBase<MarkTables> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    llvm::DenseMap<StringAttr, bool> isTable; // of parameters that something reads
    getOperation().walk([&](attn::ParameterSliceOp slice) {
      if (!slice->use_empty())
        isTable.try_emplace(slice.getParameterAttr().getAttr(), true).first->second &=
            llvm::all_of(slice->getUsers(), isLookUp);
    });
    for (auto parameter : getOperation().getOps<attn::ParameterOp>())
      if (isTable.lookup(parameter.getSymNameAttr()))
        parameter->setAttr(attn::readByRowsAttr, UnitAttr::get(&getContext()));
  }
};
} // namespace
