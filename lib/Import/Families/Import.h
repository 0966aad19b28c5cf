//===- Import.h - A checkpoint becomes attn IR --------------------------*- C++ -*-===//
#pragma once
#include "lib/Formats/GGUF/File.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Import/Module/ImportOptions.h"
#include <string_view>
#include <vector>

namespace rapt {

/// Makes the module of stage `imported` of a model, by its config's model_type. Parameters have the checkpoint's
/// storage types (vectors f32). Nothing in the module depends on where the model lies. Loads the dialects it needs into
/// `context`.
///
/// Errors name the file and every wrong key or tensor at once; for an unknown model_type they name the supported one of
/// most of its keys. Findings that need no stop (an end-of-text id that the vocabulary lacks) are warnings of the
/// context.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options = {});

/// Fails where no family understands the model: its model_type is unknown. Says which family has most of its keys.
Status checkFamily(huggingface::ModelDescription &model);

/// The model_type values that importModel understands, sorted.
std::vector<std::string_view> listFamilies();

namespace importing {
/// The classes that AutoTokenizer, AutoImageProcessor and AutoFeatureExtractor of transformers 5 take for a model type;
/// empty where nothing here depends on the class.
huggingface::DefaultClasses defaultClassesOf(std::string_view modelType);

/// What a directory has, of the model in a GGUF file, but its tokenizer. `given` are members of config.json that the
/// user sets, about which no warning is needed; `images` is the file of a tower of images that belongs to it. Errors
/// name the file, and key or tensor: of an architecture without a family, of a file that is no whole language model, of
/// tensors that are not read.
Expected<huggingface::ModelParts> describeGGUF(const gguf::File &file,
                                               const std::vector<std::pair<std::string, json::Value>> &given,
                                               const gguf::File *images = nullptr);
} // namespace importing

} // namespace rapt
