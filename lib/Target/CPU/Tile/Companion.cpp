//===- Companion.cpp - Companion matmuls whose columns fill panels -------------------------===//
#include "lib/Target/CPU/Tile/Companion.h"
#include "dialect/AttnCPU/Panels.h"

using namespace mlir;
using namespace rapt;

static bool fillsPanels(attn::LinearOp op) {
  RankedTensorType result = op.getResult().getType();
  return !result.isDynamicDim(1) && result.getDimSize(1) % attn_cpu::kPanel == 0;
}

attn::LinearOp rapt::tiledCompanionOf(attn::LinearOp op) { return fillsPanels(op) ? companionOf(op) : nullptr; }

attn::LinearOp rapt::tiledOwnerOf(attn::LinearOp op) {
  attn::LinearOp owner = ownerOf(op);
  return owner && fillsPanels(owner) ? owner : nullptr;
}

StringRef rapt::obstacleOfTiledCompanion(attn::LinearOp op, Value extra) {
  StringRef obstacle = obstacleOfCompanion(op, extra);
  return obstacle.empty() && !fillsPanels(op) ? "its columns fill no panels" : obstacle;
}
