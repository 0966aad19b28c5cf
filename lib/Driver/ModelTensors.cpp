//===- ModelTensors.cpp - Tensors of a model by the names of its program -------------------===//
#include "lib/Driver/ModelTensors.h"
#include "lib/Formats/GGUF/File.h"
#include "lib/Formats/GGUF/Sources.h"
#include "lib/Formats/GGUF/Tokenizer.h"
#include "lib/Formats/HuggingFace/MatmulTensors.h"
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include "lib/Import/Families/Import.h"
#include "lib/Support/File.h"
#include <array>

using namespace rapt;

bool driver::isGGUFFile(const std::string &path) {
  Expected<std::shared_ptr<const InputFile>> file = InputFile::open(path);
  std::array<std::byte, 8> head;
  if (!file || (*file)->size() < head.size() || !(*file)->read(0, head))
    return false;
  return gguf::isGGUF({reinterpret_cast<const char *>(head.data()), head.size()});
}

Expected<driver::GGUFTensors> driver::openGGUFTensors(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(gguf::File file, gguf::File::open(path));
  huggingface::ModelParts parts;
  if (file.metadata().find("general.architecture")) {
    RAPT_ASSIGN_OR_RETURN(parts, importing::describeGGUF(file, {}));
    // One that is not read says so where the file is compiled.
    if (Expected<huggingface::SideFiles> files = gguf::tokenizerFiles(file.metadata(), parts.warnings))
      parts.files = std::move(*files);
  } else {
    RAPT_RETURN_IF_ERROR(gguf::requireReadTypes(file));
    std::vector<huggingface::StoredTensor> tensors;
    for (const auto &[name, tensor] : file.tensors())
      tensors.push_back(gguf::wholeTensor(tensor, name));
    parts.tensors = huggingface::TensorTable::of(path, std::move(tensors));
  }
  return GGUFTensors{huggingface::withMatmuls(huggingface::openSafeTensors(parts.tensors)), std::move(parts.files)};
}

Expected<std::unique_ptr<artifact::TensorReader>> driver::openDirectoryTensors(const std::string &path) {
  std::vector<std::string> warnings; // about tensors beyond the index, which no parameter can name
  RAPT_ASSIGN_OR_RETURN(huggingface::TensorTable table, huggingface::TensorTable::load(path, warnings));
  return huggingface::withMatmuls(huggingface::openSafeTensors(table));
}

Expected<std::unique_ptr<artifact::TensorReader>> driver::openTensors(const std::string &path) {
  if (!isGGUFFile(path))
    return openDirectoryTensors(path);
  RAPT_ASSIGN_OR_RETURN(GGUFTensors tensors, openGGUFTensors(path));
  return std::move(tensors.reader);
}
