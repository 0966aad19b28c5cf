//===- Description.cpp - A GGUF file as what a directory has --------------===//
#include "lib/Formats/GGUF/Sources.h"
#include "lib/Import/Families/GGUF/Images.h"
#include "lib/Import/Families/GGUF/Pooling.h"
#include "lib/Import/Families/GGUF/TensorNames.h"
#include "lib/Import/Families/Import.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;

/// Files that are no language model, by their metadata; success of others.
static Status refuseOthers(const gguf::File &file, const std::string &type, const std::string &architecture) {
  auto refuse = [&](const std::string &what) { return Error{shownPath(file.path()) + ": " + what}; };
  if (type == "adapter")
    return refuse("holds a LoRA adapter, not a whole model; adapters are read as directories of peft: give the base "
                  "model's directory, and the adapter's as --adapter");
  if (type == "imatrix" || architecture == "imatrix")
    return refuse("holds statistics for quantizing a model (an imatrix), no model: give the model's file");
  if (type == "mmproj" || architecture == "clip")
    return refuse("holds a tower of images or sounds alone (mmproj): give the file of the language model, and this one "
                  "as --mmproj");
  if (architecture.empty())
    return refuse("has no key general.architecture, so the architecture is unknown");
  if (file.tensors().empty())
    return refuse("holds a vocabulary without tensors: give the file of the whole model");
  return {};
}

static Expected<const Architecture *> findArchitecture(const gguf::File &file) {
  RAPT_ASSIGN_OR_RETURN(std::optional<std::string> type, file.metadata().text("general.type"));
  RAPT_ASSIGN_OR_RETURN(std::optional<std::string> name, file.metadata().text("general.architecture"));
  RAPT_RETURN_IF_ERROR(refuseOthers(file, type.value_or(""), name.value_or("")));
  std::string known;
  for (const Architecture &architecture : architectures()) {
    const bool isOfTensors = architecture.onlyWith.empty() || file.find(architecture.onlyWith);
    if (architecture.name == *name && isOfTensors)
      return &architecture;
    if (architecture.onlyWith.empty())
      known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return Error{shownPath(file.path()) + ": general.architecture \"" + json::printable(*name, 60) +
               "\" is not supported; supported are " + known +
               "; other families are read from Hugging Face directories"};
}

/// "NAME" of DIR/NAME.gguf and of DIR/NAME-00001-of-00003.gguf.
static std::string nameOfModel(const gguf::File &file) {
  std::string name = file.path().substr(file.path().rfind('/') + 1);
  if (name.ends_with(".gguf"))
    name.resize(name.size() - 5);
  constexpr size_t ofPart = std::string_view("-00001-of-00003").size();
  if (file.parts().size() > 1 && name.size() > ofPart)
    name.resize(name.size() - ofPart);
  return name.empty() ? "model" : name;
}

Expected<huggingface::ModelParts> importing::describeGGUF(const gguf::File &file, const GivenMembers &given,
                                                          const gguf::File *images) {
  RAPT_ASSIGN_OR_RETURN(const Architecture *architecture, findArchitecture(file));
  RAPT_RETURN_IF_ERROR(gguf::requireReadTypes(file));
  Translation t(file, architecture->name, given);
  if (t.status())
    architecture->describe(t);
  huggingface::ModelParts parts{.path = file.path(), .name = nameOfModel(file), .modules = readPooling(t)};
  RAPT_RETURN_IF_ERROR(t.status());
  RAPT_ASSIGN_OR_RETURN(parts.tensors, nameTensors(*architecture, t));
  parts.config = t.takeConfig();
  parts.warnings = std::move(t.warnings);
  parts.hasConv1D = architecture->hasConv1D;
  if (images)
    RAPT_RETURN_IF_ERROR(addImages(parts, file, *images));
  return parts;
}
