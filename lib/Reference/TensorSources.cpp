//===- TensorSources.cpp - Tensors of a directory or of a seed -----------------===//
//
// The distributions of docs/RandomWeights.md depend on what a tensor is for. The
// IR tells that by use, so a seed and the text of a module are enough.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/HuggingFace/MatmulTensors.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Formats/HuggingFace/RandomTensors.h"
#include "lib/Reference/ParameterReader.h"
#include "lib/Reference/Run.h"
#include "lib/Support/CommandFiles.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::reference;
using huggingface::Init;

namespace {

/// Channels of a head where `value` makes queries alone, for an attention with the scale 1; else 1.
int64_t unscaledChannels(mlir::Value value) {
  for (Operation *user : value.getUsers()) {
    if (auto attention = dyn_cast<attn::AttentionOp>(user)) {
      if (attention.getQuery() == value && !attention.getAdditive() && matchPattern(attention.getScale(), m_OneFloat()))
        return attention.getQuery().getType().getShape().back();
    } else if (isa<attn::SplitHeadsOp, attn::MergeHeadsOp, attn::RopeOp>(user) && user->getNumResults() == 1 &&
               user->getOperand(0) == value) {
      if (const int64_t channels = unscaledChannels(user->getResult(0)); channels != 1)
        return channels;
    }
  }
  return 1;
}

/// The purpose of a parameter, as one use shows it; `slice` is one layer's type.
Init purposeOf(OpOperand &use, RankedTensorType slice) {
  Operation *user = use.getOwner();
  if ((isa<attn::EmbeddingOp, attn::ImageTokensOp>(user) && use.getOperandNumber() >= 1) ||
      isa<attn::ResizePositionsOp>(user))
    return Init::embedding();
  if (auto linear = dyn_cast<attn::LinearOp>(user); linear && use.getOperandNumber() == 1 && slice.getRank() == 2)
    return Init::unscaledQuery(slice.getDimSize(linear.getTransposed() ? 1 : 0), unscaledChannels(linear.getResult()));
  if (auto recurrence = dyn_cast<attn::RecurrenceOp>(user); recurrence && use.get() == recurrence.getWeight())
    return Init::weight(slice.getDimSize(0));
  if (auto attention = dyn_cast<attn::AttentionOp>(user); attention && use.get() == attention.getAdditive())
    return Init::weight(slice.getDimSize(0));
  if (isa<attn::LayerNormOp, attn::RMSNormOp>(user) && use.getOperandNumber() == 1)
    return Init::normWeight();
  return Init::bias();
}

/// The purposes of parameters by symbol: an embedding stays one whatever else reads it, a bias yields to any other.
llvm::StringMap<Init> purposesOf(ModuleOp module) {
  llvm::StringMap<Init> purposes;
  module.walk([&](attn::ParameterSliceOp slice) {
    for (OpOperand &use : slice.getValue().getUses()) {
      Init found = purposeOf(use, slice.getValue().getType());
      auto [known, isNew] = purposes.try_emplace(slice.getParameter(), found);
      if (!isNew && (found.kind == Init::Embedding || known->second.kind == Init::Bias))
        known->second = found;
    }
  });
  return purposes;
}

} // namespace

Status rapt::reference::checkFiles(const Request &request) {
  CommandFiles files;
  if (request.ir == "-")
    files.addStandardInput();
  else
    files.addInput(request.ir, "the IR");
  if (!request.weights.empty())
    for (const std::string &path : huggingface::listModelFiles(request.weights))
      files.addInput(path, "a file of the model");
  for (const auto &[name, path] : request.inputs)
    files.addInput(path, "--input " + name);
  for (const auto &[name, path] : request.parameters)
    files.addInput(path, "--parameter " + name);
  for (const auto &[name, path] : request.outputs)
    files.addOutput(path, "--output " + name);
  return files.check();
}

Expected<std::unique_ptr<artifact::TensorReader>> rapt::reference::makeRandomTensors(ModuleOp module, uint64_t seed) {
  llvm::StringMap<Init> purposes = purposesOf(module);
  std::vector<huggingface::TensorRequest> requests;
  artifact::DType dtype = artifact::DType::F32;
  for (auto parameter : module.getOps<attn::ParameterOp>()) {
    RankedTensorType slice = parameter.getSliceType();
    if (slice.getElementType().isBF16() || slice.getElementType().isF16())
      dtype = slice.getElementType().isBF16() ? artifact::DType::BF16 : artifact::DType::F16;
    auto purpose = purposes.find(parameter.getSymName());
    Init init = purpose == purposes.end() ? Init::bias() : purpose->second;
    for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
      const SmallVector<int64_t> shape = parameter.getStoredShape(source);
      // A norm's weight may be stored as its distance from 1.
      if (llvm::any_of(source.getTransforms(), llvm::IsaPred<attn::AddAttr>))
        init = Init::bias();
      for (int64_t layer = 0, layers = parameter.getLayers().value_or(1); layer < layers; ++layer)
        requests.push_back({tensorName(parameter, source, layer), {shape.begin(), shape.end()}, init});
    }
  }
  // A matmul has two tensors, of which the right one is a parameter of its own.
  for (huggingface::TensorRequest &request : requests)
    if (const auto [left, right] = huggingface::factorsOf(request.name); !right.empty())
      for (const huggingface::TensorRequest &other : requests)
        if (other.name == right) {
          request = {std::string(left), {request.shape[0], other.shape[0]}, Init::weight(other.shape[0])};
          break; // the names were parts of the request's
        }
  return huggingface::withMatmuls(huggingface::makeRandomTensors(seed, dtype, requests));
}
