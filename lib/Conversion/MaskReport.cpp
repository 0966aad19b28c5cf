//===- MaskReport.cpp - A mask in words, and the blocks that it leaves ----------------------===//
#include "lib/Conversion/MaskReport.h"
#include "lib/Analysis/Mask.h"
#include "lib/Conversion/MaskIntervals.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

/// Positions of queries and keys of which blocks are counted, and the tiles of queries among them that are.
constexpr int64_t kPositions = 8192, kTiles = 32;

/// Whether some block is told by what is known at run time only: sequence and head, integers, scalars from outside.
bool isToldLater(Region &mask) {
  SmallVector<bool> known;
  bool reads = false;
  for (auto [i, argument] : llvm::enumerate(mask.front().getArguments())) {
    known.push_back(argument.getType().isIntOrIndex());
    reads |= i != 2 && i != 3 && !argument.use_empty();
  }
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(mask, outside);
  reads |= llvm::any_of(outside, [](Value value) { return !matchPattern(value, m_Constant()); });
  return reads && mayTellKept(mask, known);
}

std::string nameOfBounds(const MaskBounds &bounds) {
  std::string text;
  if (bounds.upper)
    text = *bounds.upper == 1 ? "causal" : "keys up to query + " + std::to_string(*bounds.upper - 1);
  if (bounds.lower)
    text += (text.empty() ? "window of " : " + window of ") + std::to_string(1 - *bounds.lower);
  if (!bounds.exact)
    text += text.empty() ? "a region" : " and more";
  return text.empty() ? "no mask" : text;
}

} // namespace

std::string rapt::describeMask(Region &mask, int64_t queries, int64_t keys) {
  const std::string name = nameOfBounds(analyzeMask(mask));
  if (mask.empty())
    return name + ": all blocks are visited";
  SmallVector<MaskArgument> arguments(mask.front().getNumArguments());
  int64_t visited = 0, all = 0;
  for (int64_t tile = 0; tile < kTiles; ++tile) { // in the middle of as many parts
    const int64_t q = (2 * tile + 1) * (kPositions / kTiles) / 2;
    for (int64_t k = 0; k < kPositions; k += keys) {
      arguments[2].interval = {q, q + queries - 1};
      arguments[3].interval = {k, k + keys - 1};
      visited += !isNumber(keptBy(mask, arguments, nullptr).some, 0), ++all;
    }
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << name << ": " << llvm::formatv("{0:f0}", 100.0 * double(visited) / double(all)) << " % of blocks of "
         << queries << " queries and " << keys << " keys are visited at " << kPositions << " keys";
  if (isToldLater(mask))
    stream << ", and fewer where operands tell so";
  return text;
}

void rapt::remarkMask(attn::AttentionOp op, int64_t queries, int64_t keys, ArrayRef<unsigned> summarized) {
  if (!op->getContext()->getRemarkEngine())
    return;
  // Counting takes milliseconds, so it waits until somebody is there to hear it.
  if (auto heard = remark::analysis(op.getLoc(), remark::RemarkOpts::name("mask").category(kMaskCategory))) {
    std::string text = describeMask(op.getMask(), queries, keys);
    for (unsigned i : summarized)
      text += "; heads share a summary of extra operand " + std::to_string(i);
    heard << remark::detail::Remark::Arg("Mask", text);
  }
}
