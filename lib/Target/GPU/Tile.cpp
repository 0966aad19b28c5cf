//===- Tile.cpp - Ops become grids of tiles of thread blocks ------------------------------===//
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/LinearAttention/LinearAttention.h"
#include "lib/Target/GPU/Norm/Norm.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGPUTILE
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct Tile : rapt::impl::AttnGPUTileBase<Tile> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Canonical, Stage::LaidOut})))
      return signalPassFailure();
    if (failed(any_gpu::tileAttention(getOperation())) || failed(any_gpu::tileLinearAttention(getOperation())) ||
        failed(any_gpu::tileMatmuls(getOperation())) || failed(any_gpu::tileNorms(getOperation())))
      signalPassFailure();
  }
};

} // namespace
