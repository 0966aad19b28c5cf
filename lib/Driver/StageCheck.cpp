//===- StageCheck.cpp - Whether text of a stage fits the command -----------------------------===//
#include "lib/Driver/StageCheck.h"
#include "dialect/Attn/AttnDialect.h"
#include "lib/Driver/Lowering.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Target/Targets.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

/// Options of the command that work on a checkpoint, or on what only the stage imported leaves open.
Status checkOptions(Stage stage, const Options &options) {
  const std::pair<bool, const char *> ofModels[] = {{options.maxSequenceLength != 0, "--max-seq-len"},
                                                    {options.maxBatch != Options().maxBatch, "--max-batch"},
                                                    {!options.ignoreKeys.empty(), "--ignore-config-key"}};
  for (const auto &[given, name] : ofModels)
    if (given)
      return Error{shownPath(options.input) + ": " + name + " is for the configuration of a model, MLIR text has none"};
  if (!options.adapters.empty())
    return Error{shownPath(options.input) + ": --adapter is for the directory of a model"};
  if (!options.namedAdapters.empty())
    return Error{shownPath(options.input) + ": --named-adapter is for the directory of a model"};
  const char *stored = "weights have their storage";
  const std::tuple<bool, const char *, const char *> ofImported[] = {
      {options.quantize != "none", "--quantize", stored},
      {options.dtype != "auto", "--dtype", stored},
      {!options.activations.empty(), "--activations", "activations have their type"},
      {options.attentionWeights.given, "--attention-weights", "entries have their outputs"},
      {options.attentionLogSumExp.given, "--attention-log-sum-exp", "entries have their outputs"}};
  for (const auto &[given, name, reason] : ofImported)
    if (given && stage >= Stage::Canonical)
      return Error{shownPath(options.input) + ": is at the stage " + rapt::nameOf(stage).str() + ", where " + reason +
                   " already; " + name + " needs the stage imported"};
  return {};
}

Status checkTarget(ModuleOp module, Stage stage, const CodeVariant &variant, const Options &options) {
  if (stage > Stage::Canonical && !module->hasAttr(attn::AttnDialect::targetAttr))
    return Error{shownPath(options.input) + ": is at the stage " + rapt::nameOf(stage).str() +
                 ", but has no attn.target, which names the target and CPU that the text was lowered for; compile from "
                 "the stage canonical"};
  const TargetInfo found = TargetInfo::of(module), wanted = variant.capabilities;
  if (stage <= Stage::Canonical || found == wanted)
    return {};
  if (found.target != wanted.target)
    return Error{shownPath(options.input) + ": is at the stage " + rapt::nameOf(stage).str() +
                 ", lowered for the target " + json::printable(found.target) + "; " +
                 (targetNamed(found.target) ? "give --target=" + found.target + ", or"
                                            : "this compiler has none of this name:") +
                 " compile from the stage canonical"};
  return Error{shownPath(options.input) + ": is at the stage " + rapt::nameOf(stage).str() +
               ", lowered for a CPU with " + found.differenceFrom(wanted) + "; " + variant.machine.name + " of " +
               variant.machine.arch() + " has " + wanted.differenceFrom(found) +
               "; name a CPU like the first, or compile from the stage canonical"};
}

} // namespace

Status driver::checkStage(ModuleOp module, const CodeVariant &variant, const Options &options) {
  const Stage stage = stageOf(module);
  RAPT_RETURN_IF_ERROR(checkOptions(stage, options));
  RAPT_RETURN_IF_ERROR(checkTarget(module, stage, variant, options));
  if (hasUserPasses(stage, options)) // which may replace what the stage does not have; it is checked behind them
    return {};
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  addContract(passes, stage, *targetNamed(options.target));
  return succeeded(passes.run(module)) ? Status() : Error{""};
}
