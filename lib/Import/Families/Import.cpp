//===- Import.cpp - Finding the family of a checkpoint ------------------------===//
#include "lib/Import/Families/Import.h"
#include "dialect/Attn/AttnDialect.h"
#include "dialect/Attn/Facts.h"
#include "lib/Import/Families/Family.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace rapt;

namespace {

struct Family {
  std::string_view modelType;
  std::string_view keys;             ///< separated by spaces
  importing::FamilyFunction *import; ///< null of a family of decoders
  const importing::DecoderFamily *decoder;
};

constexpr Family families[] = {
#define RAPT_FAMILY(MODEL_TYPE, FUNCTION, KEYS) {MODEL_TYPE, KEYS, importing::FUNCTION, nullptr},
#define RAPT_DECODER(MODEL_TYPE, FAMILY, KEYS) {MODEL_TYPE, KEYS, nullptr, &importing::FAMILY},
#include "lib/Import/Families/Families.def"
#undef RAPT_FAMILY
#undef RAPT_DECODER
};

/// What config.json called a family before transformers knew it.
constexpr struct {
  std::string_view modelType, family;
} oldNames[] = {{"RefinedWeb", "falcon"}, {"RefinedWebModel", "falcon"}, {"mixformer-sequential", "phi"}};

/// The family of a model_type; null: none.
const Family *familyOf(std::string_view modelType) {
  for (const auto &old : oldNames)
    if (old.modelType == modelType)
      modelType = old.family;
  const Family *found = llvm::find_if(families, [&](const Family &family) { return family.modelType == modelType; });
  return found == std::end(families) ? nullptr : found;
}

std::string listed() {
  std::string text;
  for (const Family &family : families)
    text += (text.empty() ? "" : ", ") + std::string(family.modelType);
  return text;
}

SmallVector<StringRef> keysOf(const Family &family) {
  SmallVector<StringRef> keys;
  StringRef(family.keys).split(keys, ' ');
  return keys;
}

/// The weight of a key: one that few families have says much.
double weightOf(StringRef key) {
  return 1.0 / double(std::max<int64_t>(
                   1, llvm::count_if(families, [&](const Family &f) { return llvm::is_contained(keysOf(f), key); })));
}

/// The share of a family's keys that a configuration has, by their weights.
double shareOfKeys(const Family &family, ArrayRef<std::string_view> keys) {
  double all = 0, own = 0;
  for (StringRef key : keysOf(family)) {
    const double weight = weightOf(key);
    all += weight;
    own += llvm::is_contained(keys, std::string_view(key)) ? weight : 0;
  }
  return own / all;
}

/// The family that shares most keys, when they have three fifths of the weight at least: sizes that every model has say
/// nothing. Names say little: "gemma" is a llama more than a "gpt2" is a "gpt_neox".
const Family *nearest(ArrayRef<std::string_view> keys) {
  const Family *best = nullptr;
  double most = 0.6;
  for (const Family &family : families)
    if (double share = shareOfKeys(family, keys); share > most) {
      best = &family;
      most = share;
    }
  return best;
}

Error unknownFamily(huggingface::ModelDescription &model) {
  std::string where = model.config().file() + ": ", type = model.modelType();
  if (const json::Value *given = model.config().getRaw("model_type"); given && !given->isString())
    return Error{where + "model_type is " + json::printable(json::write(*given), 60) +
                 ", not a string; supported are " + listed()};
  if (type.empty())
    return Error{where + "model_type is missing, so the architecture is unknown; supported are " + listed()};
  // Names longer than any family's are cut: they come from outside, and edit distance is quadratic.
  std::string text = where + "model_type \"" + json::printable(type, 60) + "\" is not supported";
  if (model.hasCustomCode())
    text += " (its auto_map names Python code, which is never executed)";
  if (const Family *family = nearest(model.config().keys()))
    text += "; by its keys the nearest supported one is \"" + std::string(family->modelType) + "\"";
  return Error{text + "; supported are " + listed()};
}

Status checkOptions(const ImportOptions &options) {
  auto outside = [](const char *name, int64_t value, int64_t least, int64_t most) {
    return Error{std::string(name) + " " + std::to_string(value) + " is not between " + std::to_string(least) +
                 " and " + std::to_string(most)};
  };
  constexpr int64_t mostIndex = INT32_MAX; // offsets and positions are i32 at run time
  if (options.maxSequenceLength < 0 || options.maxSequenceLength > mostIndex)
    return outside("the longest sequence", options.maxSequenceLength, 0, mostIndex);
  if (options.maxBatch < 1 || options.maxBatch > 65536)
    return outside("the largest batch", options.maxBatch, 1, 65536);
  if (options.maxTokens < 1 || options.maxTokens > mostIndex)
    return outside("the largest number of tokens in a step", options.maxTokens, 1, mostIndex);
  if (options.cacheBlock < 1 || options.cacheBlock > 65536)
    return outside("the number of positions of a cache block", options.cacheBlock, 1, 65536);
  return {};
}

} // namespace

Status rapt::checkFamily(huggingface::ModelDescription &model) {
  return familyOf(model.modelType()) ? Status() : Status(unknownFamily(model));
}

std::vector<std::string_view> rapt::listFamilies() {
  std::vector<std::string_view> names;
  for (const Family &family : families)
    names.push_back(family.modelType);
  return names;
}

Expected<OwningOpRef<ModuleOp>> rapt::importModel(MLIRContext &context, huggingface::ModelDescription &model,
                                                  const ImportOptions &options) {
  RAPT_RETURN_IF_ERROR(checkOptions(options));
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                      math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  const Family *family = familyOf(model.modelType());
  if (!family)
    return unknownFamily(model);
  importing::ImportedModule module = family->decoder
                                         ? importing::importDecoder(context, model, options, *family->decoder)
                                         : family->import(context, model, options);
  // The importer checks every number it reads: IR that does not verify is a fault of the importer.
  if (module && failed(verify(**module)))
    return Error{"internal error: the imported module of family " + model.modelType() + " does not verify"};
  for (std::string &line : model.config().unreadTexts())
    model.warn(std::move(line));
  if (module && !model.namedAdapters().empty() && attn::factsOf(**module).adapters.empty())
    return Error{shownPath(model.path()) + ": programs of family \"" + model.modelType() +
                 "\" choose among no adapters; merge one instead: --adapter"};
  return module;
}
