//===- CacheWindows.cpp - Caches that forget what no query reads ---------------------------===//
#include "lib/Analysis/CacheWindows.h"
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/CacheWindow.h"
#include "lib/Analysis/Mask.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rapt;

/// The mask of an attention keeps no key at q - window or before, where q is a position of the sequence.
static LogicalResult verifyReader(Operation *reader, int64_t window) {
  auto attention = dyn_cast<attn::AttentionOp>(reader);
  const std::optional<int64_t> lower =
      attention && attention.getQOffset() ? analyzeMask(attention.getMask()).lower : std::nullopt;
  if (lower && *lower > -window)
    return success();
  return reader->emitOpError() << "reads a cache whose '" << attn::cacheWindowAttr << "' is " << window
                               << ", but has no mask q - kv < " << window
                               << " of positions (q_offset): the cache keeps no other keys";
}

/// The values that a use of a cache makes it go on as.
static void follow(OpOperand &use, SetVector<Value> &caches) {
  Operation *user = use.getOwner();
  if (isa<attn::KVAppendOp>(user)) {
    caches.insert_range(user->getResults());
  } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
    if (OpResult result = loop.getTiedLoopResult(&use)) {
      caches.insert(result);
      caches.insert(loop.getTiedLoopRegionIterArg(&use));
    }
  }
}

LogicalResult rapt::verifyCacheWindows(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto window = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), attn::cacheWindowAttr);
    if (!window)
      continue;
    SetVector<Value> caches;
    caches.insert(argument);
    for (unsigned i = 0; i < caches.size(); ++i)
      for (OpOperand &use : caches[i].getUses()) {
        follow(use, caches);
        auto view = dyn_cast<attn::KVViewOp>(use.getOwner());
        if (!view)
          continue;
        for (Operation *reader : view->getUsers())
          if (failed(verifyReader(reader, window.getInt())))
            return failure();
      }
  }
  return success();
}
