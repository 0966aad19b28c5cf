//===- Schedule.cpp - Schedules of matmuls by thread blocks -------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/Linear/Quantized.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;

std::string any_gpu::refusalOf(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType(), weight = op.getWeight().getType().getElementType();
  if (op.getGroups())
    return "its rows have a matrix of several each";
  if (op.isOfHeads())
    return "its heads have a matrix each";
  if (op.isQuantized()) {
    if (!panelsOf(op) || !op.getWeight().getDefiningOp<attn::ParameterSliceOp>())
      return "tensor cores take a quantized weight in panels of the weight file";
    return op.getInput().getDefiningOp<attn::QuantizeRowsOp>() ? "" : "its rows are quantized elsewhere";
  }
  if (op.getLayout())
    return "its weight is in a layout of another target";
  if (!isa<FloatType>(input) || !isa<FloatType>(weight))
    return "its elements are quantized";
  if (op.getInput().getType().getDimSize(1) == 0)
    return "its sums have no terms";
  return "";
}

bool any_gpu::multipliesFloats(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType();
  return !op.isQuantized() && (input.isF32() || input != op.getWeight().getType().getElementType());
}

LogicalResult any_gpu::verifySchedule(attn::LinearOp op) {
  if (std::string reason = refusalOf(op); !reason.empty())
    return op.emitOpError() << "has a schedule, but " << reason;
  StringRef why = "no rotation reads its heads";
  if (attn_gpu::scheduleOf<attn_gpu::LinearScheduleAttr>(op).getRotates() && !rotationOf(op, why))
    return op.emitOpError() << "has a schedule that rotates, but " << why;
  return success();
}

attn::RopeOp any_gpu::rotationOf(attn::LinearOp op, StringRef &reason, bool isAnyPair) {
  attn::SplitHeadsOp split;
  attn::RopeOp rope;
  for (Operation *user : op->getUsers())
    if ((split = dyn_cast<attn::SplitHeadsOp>(user)))
      for (Operation *reader : split->getUsers())
        if (auto found = dyn_cast<attn::RopeOp>(reader); found && found.getInput().getDefiningOp() == split)
          rope = found;
  if (!rope)
    return nullptr;
  auto refuse = [&](StringRef why) {
    reason = why;
    return attn::RopeOp();
  };
  if (!op->hasOneUse() || split.getHeads().size() != 1 || !rope.getInput().hasOneUse())
    return refuse("the heads are read before they are rotated");
  if (!rope.getInterleaved() && !isAnyPair)
    return refuse("a thread has no two channels half a head apart");
  RankedTensorType heads = rope.getInput().getType();
  if (heads.isDynamicDim(1) || heads.isDynamicDim(2) || heads.getDimSize(2) % 2 != 0)
    return refuse("its heads are of no known even number of channels");
  for (Value table : {rope.getCosines(), rope.getSines()})
    if (Operation *made = table.getDefiningOp();
        made && made->getBlock() == op->getBlock() && op->isBeforeInBlock(made))
      return refuse("its angles are computed after the matmul");
  return rope->getBlock() == op->getBlock() ? rope : refuse("the rotation is in another block");
}
