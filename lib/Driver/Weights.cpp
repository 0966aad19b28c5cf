//===- Weights.cpp - Where the values of parameters come from --------------------------------===//
#include "lib/Driver/Weights.h"
#include "lib/Driver/ModelTensors.h"
#include "lib/Formats/HuggingFace/CheckTensors.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/File.h"
#include <cstring>
#include <sys/stat.h>

using namespace rapt;
using namespace rapt::driver;

static Expected<Weights> openPacked(const std::vector<artifact::Parameter> &parameters, const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(rapt_weights_header header, artifact::readWeightHeader(path));
  artifact::Id wanted = artifact::interfaceId(parameters, artifact::weightsBytes(parameters)), found;
  std::memcpy(found.bytes.data(), header.interface_id, found.bytes.size());
  if (!(wanted == found))
    return Error{shownPath(path) + ": holds weights for the interface " + found.hex() + ", the module needs " +
                 wanted.hex()};
  Weights weights;
  weights.existing = header;
  weights.existingName = path.substr(path.rfind('/') + 1);
  return weights;
}

/// The tensors of a model directory, and its side files.
static Expected<Weights> openDirectory(Input &input, const std::vector<artifact::Parameter> &parameters,
                                       const std::string &path) {
  Weights weights;
  RAPT_ASSIGN_OR_RETURN(weights.reader, openDirectoryTensors(path));
  huggingface::LoadOptions load;
  load.noWeights = true;
  RAPT_ASSIGN_OR_RETURN(huggingface::ModelDescription model, huggingface::ModelDescription::load(path, load));
  for (const auto &[name, bytes] : model.files())
    input.sections.push_back({name, bytes});
  weights.names = artifact::sourceTensors(parameters);
  return weights;
}

/// The tensors of a GGUF file, and what it has of a directory's side files.
static Expected<Weights> openGGUF(Input &input, const std::vector<artifact::Parameter> &parameters,
                                  const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(GGUFTensors tensors, openGGUFTensors(path));
  for (const auto &[name, bytes] : tensors.files)
    input.sections.push_back({name, bytes});
  Weights weights;
  weights.reader = std::move(tensors.reader);
  weights.names = artifact::sourceTensors(parameters);
  return weights;
}

static Expected<Weights> openAny(Input &input, const std::vector<artifact::Parameter> &parameters,
                                 const Options &options) {
  Weights weights;
  if (parameters.empty() || options.noWeights)
    return weights;
  if (input.model) {
    weights.reader = input.model->openTensors();
    weights.names = input.model->tensorNames();
    return weights;
  }
  if (options.weights.empty())
    return Error{shownPath(options.input) + ": has " + std::to_string(parameters.size()) +
                 " parameters; --weights=F gives their values, --no-weights leaves them out"};
  if (isGGUFFile(options.weights))
    return openGGUF(input, parameters, options.weights);
  struct stat status;
  if (stat(options.weights.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return openPacked(parameters, options.weights);
  return openDirectory(input, parameters, options.weights);
}

/// Can these weights become a part of the library?
static Status checkEmbedding(const Weights &weights, const Input &input,
                             const std::vector<artifact::Parameter> &parameters, const Options &options) {
  // Code reaches its weights by 32-bit offsets, and linking holds them in memory several times.
  constexpr uint64_t most = uint64_t(1) << 30;
  if (parameters.empty())
    return Error{shownPath(options.input) + ": --embed-weights: there are no weights"};
  RAPT_ASSIGN_OR_RETURN(uint64_t bytes, artifact::predictFileBytes(parameters, input.sections));
  if (weights.existing)
    bytes = weights.existing->file_bytes;
  if (bytes > most)
    return Error{shownPath(options.input) + ": --embed-weights takes at most " + std::to_string(most) +
                 " bytes, these weights have " + std::to_string(bytes) + "; without it they become their own file"};
  return {};
}

Expected<Weights> Weights::open(Input &input, const std::vector<artifact::Parameter> &parameters,
                                const Options &options) {
  Expected<Weights> weights = openAny(input, parameters, options);
  if (weights && options.embedWeights)
    RAPT_RETURN_IF_ERROR(checkEmbedding(*weights, input, parameters, options));
  return weights;
}

uint64_t Weights::tensorBytes() const {
  uint64_t bytes = 0;
  for (const std::string &name : names)
    if (const artifact::TensorInfo *info = reader->find(name))
      bytes += uint64_t(checkedProduct<int64_t>(info->shape).value_or(0)) * artifact::sizeOf(info->dtype);
  return bytes;
}

Status Weights::pack(const Input &input, const std::vector<artifact::Parameter> &parameters, const Options &options,
                     const std::string &directory, const std::string &base, Phases &phases) {
  if (!reader)
    return {};
  if (options.checkTensors) {
    phases.enter("checking tensors", "bytes", tensorBytes());
    RAPT_RETURN_IF_ERROR(
        withContext(shownPath(options.input), huggingface::checkTensors(*reader, names, phases.counter())));
  }
  phases.enter(packingPhase, "bytes", artifact::weightsBytes(parameters));
  artifact::PackRequest request{&parameters, reader.get(), &input.sections, directory,
                                base,        options.jobs, phases.counter()};
  RAPT_ASSIGN_OR_RETURN(artifact::PackedWeights result, artifact::packWeights(request));
  packed.emplace(std::move(result));
  return {};
}

Status Weights::embed(const std::string &path) {
  auto mapped = packed ? llvm::MemoryBuffer::getOpenFile(packed->descriptor(), "weights", packed->fileBytes,
                                                         /*RequiresNullTerminator=*/false)
                       : llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!mapped)
    return Error{"the weights to embed cannot be read: " + mapped.getError().message()};
  rapt_weights_header header{};
  if ((*mapped)->getBufferSize() >= sizeof header)
    std::memcpy(&header, (*mapped)->getBufferStart(), sizeof header);
  if (header.file_bytes != (*mapped)->getBufferSize())
    return Error{shownPath(path) + ": changed while it was read"};
  inside = std::move(*mapped);
  packed.reset();
  return {};
}

Status Weights::describe(artifact::Manifest &manifest, const std::string &base) const {
  manifest.weightsBytes = artifact::weightsBytes(manifest.parameters);
  manifest.interfaceId = artifact::interfaceId(manifest.parameters, manifest.weightsBytes);
  if (manifest.parameters.empty())
    return {};
  if (inside) {
    rapt_weights_header header;
    std::memcpy(&header, inside->getBufferStart(), sizeof header);
    std::memcpy(manifest.contentId.bytes.data(), header.content_id, manifest.contentId.bytes.size());
    manifest.weightsInside = true;
    manifest.weightsFileBytes = header.file_bytes;
  } else if (existing) {
    std::memcpy(manifest.contentId.bytes.data(), existing->content_id, manifest.contentId.bytes.size());
    manifest.weightsFile = existingName;
    manifest.weightsFileBytes = existing->file_bytes;
  } else if (packed) {
    if (!(packed->interfaceId == manifest.interfaceId))
      return Error{"packing made another interface than the manifest has"};
    manifest.contentId = packed->contentId;
    manifest.weightsFile = packed->fileName;
    manifest.weightsFileBytes = packed->fileBytes;
  } else {
    // Any content fits: the file is named when the model is opened.
    manifest.weightsFile = base + ".weights";
  }
  return {};
}
