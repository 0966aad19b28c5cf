//===- TensorTable.cpp - One file or many shards ----------------------------===//
#include "lib/Formats/HuggingFace/TensorTable.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/EightBitFloats.h"
#include "lib/Formats/HuggingFace/MicroscalingFloats.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Support/Json.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::huggingface;

static constexpr uint64_t mostIndexBytes = uint64_t(64) << 20;
static constexpr uint64_t mostConfigBytes = uint64_t(16) << 20;
static constexpr size_t mostNamed = 20;

static std::string quoted(std::string_view name) { return "\"" + json::printable(name) + "\""; }

static Error describeMissingWeights(const std::string &directory) {
  std::string where = shownPath(directory) + ": no model.safetensors and no model.safetensors.index.json";
  std::vector<std::string> names = listWeightFiles(directory);
  auto firstWith = [&](std::initializer_list<std::string_view> suffixes) -> const std::string * {
    for (const std::string &name : names)
      for (std::string_view suffix : suffixes)
        if (name.ends_with(suffix))
          return &name;
    return nullptr;
  };
  if (const std::string *name = firstWith({".incomplete"}))
    return Error{where + "; " + quoted(*name) + " is an unfinished download: download it again"};
  if (const std::string *name = firstWith({".bin", ".pt", ".pth", ".ckpt", ".pkl"}))
    return Error{where + "; " + quoted(*name) +
                 " is a PyTorch pickle, which can run code when it is read and is refused: convert it with "
                 "`model.save_pretrained(DIR, safe_serialization=True)`"};
  std::string others;
  for (size_t i = 0; i < names.size() && i < mostNamed; ++i)
    others += (i ? ", " : "; it holds ") + quoted(names[i]);
  return Error{where + others + " (without weights: --random-weights=SEED)"};
}

Expected<TensorTable> TensorTable::load(const std::string &directory, std::vector<std::string> &warnings) {
  RAPT_ASSIGN_OR_RETURN(TensorTable table, loadFiles(directory, warnings));
  RAPT_RETURN_IF_ERROR(table.joinMicroscaling());
  RAPT_RETURN_IF_ERROR(table.joinEightBit(directory));
  RAPT_ASSIGN_OR_RETURN(std::vector<std::string> folders, listDenseFolders({directory}));
  for (const std::string &folder : folders)
    RAPT_RETURN_IF_ERROR(table.addFolder(directory, folder));
  return table;
}

Status TensorTable::addFolder(const std::string &directory, const std::string &folder) {
  const std::string path = directory + "/" + folder;
  if (!entryExists(path + "/model.safetensors"))
    return describeMissingWeights(path);
  RAPT_ASSIGN_OR_RETURN(TensorTable added, loadFile(path + "/model.safetensors"));
  for (const auto &[name, tensor] : added.tensors()) {
    StoredTensor own = tensor;
    own.name = folder + "." + name;
    replace(std::move(own));
  }
  return {};
}

Status TensorTable::joinMicroscaling() {
  constexpr std::string_view ofCodes = "_blocks", ofScales = "_scales";
  constexpr int64_t bytesOfBlock = microscalingBlock / 2;
  std::vector<StoredTensor> joined;
  for (const auto &[name, codes] : table) {
    if (!name.ends_with(ofCodes) || codes.dtype != "U8")
      continue;
    const std::string stem = name.substr(0, name.size() - ofCodes.size());
    auto scales = table.find(stem + std::string(ofScales));
    if (scales == table.end() || scales->second.dtype != "U8" || table.contains(stem))
      continue;
    std::vector<int64_t> shape = codes.shape;
    const int64_t last = shape.empty() ? 0 : shape.back();
    if (!shape.empty())
      shape.pop_back();
    if (last != bytesOfBlock || shape.empty() || shape != scales->second.shape)
      return Error{shownPath(source) + ": tensors " + quoted(name) + " " + shownShape(codes.shape) + " and " +
                   quoted(scales->first) + " " + shownShape(scales->second.shape) +
                   " do not fit: MXFP4 has blocks of 16 bytes with a scale each"};
    shape.back() *= int64_t(microscalingBlock); // fits, as the file has 16 bytes for each
    StoredTensor tensor = codes;
    tensor.name = stem;
    tensor.dtype = "MXFP4";
    tensor.shape = shape;
    tensor.scales = std::make_shared<const StoredTensor>(scales->second);
    tensor.blocks = &microscalingBlocks;
    joined.push_back(std::move(tensor));
  }
  for (StoredTensor &tensor : joined) {
    const std::string name = tensor.name;
    table.erase(name + std::string(ofCodes));
    table.erase(name + std::string(ofScales));
    table.emplace(name, std::move(tensor));
  }
  return {};
}

namespace {
/// How config.json says that codes are read.
struct Reading {
  artifact::DType type = artifact::DType::BF16; ///< of their numbers; bf16 has all that are not scaled
  std::optional<BlockScaling> scaling;
};
} // namespace

static Expected<Reading> readReading(const std::string &directory) {
  Reading reading;
  const std::string path = directory + "/config.json";
  if (!entryExists(path))
    return reading;
  RAPT_ASSIGN_OR_RETURN(json::Value root, readDownloadedJson(path, mostConfigBytes));
  ConfigReader config(std::move(root), path, {}); // ModelDescription reports its findings
  reading.type = readDeclaredType(config);
  reading.scaling = readBlockScaling(config);
  return reading;
}

/// The scales' shape that fits a tensor.
static std::vector<int64_t> shapeOfScales(const StoredTensor &tensor, const BlockScaling &scaling) {
  if (!scaling.block)
    return {};
  std::vector<int64_t> shape = tensor.shape;
  for (size_t i = 0; i < 2; ++i) {
    int64_t &extent = shape[shape.size() - 2 + i];
    extent = extent / (*scaling.block)[i] + (extent % (*scaling.block)[i] != 0);
  }
  return shape;
}

/// Puts the scales to the codes of a matrix.
static Status addScales(StoredTensor &tensor, const StoredTensor &scales, const BlockScaling &scaling) {
  const std::string what = shownPath(tensor.file->path()) + ": tensor " + quoted(tensor.name) + " " +
                           shownShape(tensor.shape) + " of " + tensor.dtype;
  if (tensor.dtype != "F8_E4M3" || tensor.shape.size() < 2 || (!scaling.block && tensor.shape.size() > 2))
    return Error{what + " has scales, which only matrices of F8_E4M3 may have"};
  const std::vector<int64_t> expected = shapeOfScales(tensor, scaling);
  const bool isOne = !scaling.block && scales.shape == std::vector<int64_t>{1};
  if (scales.shape != expected && !isOne)
    return Error{what + ": its scales " + quoted(scales.name) + " are " + shownShape(scales.shape) + ", expected " +
                 shownShape(expected)};
  if (scales.dtype != "F32" && scales.dtype != "BF16" && scales.dtype != "F16")
    return Error{what + ": its scales " + quoted(scales.name) + " are " + json::printable(scales.dtype, 40) +
                 ", supported are F32, F16 and BF16"};
  tensor.scales = std::make_shared<const StoredTensor>(scales);
  tensor.block = scaling.block.value_or(
      std::array<int64_t, 2>{std::max<int64_t>(tensor.shape[0], 1), std::max<int64_t>(tensor.shape[1], 1)});
  return {};
}

Status TensorTable::joinEightBit(const std::string &directory) {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : table)
    if (eightBitFormat(tensor.dtype))
      names.push_back(name);
  if (names.empty())
    return {};
  RAPT_ASSIGN_OR_RETURN(Reading reading, readReading(directory));
  for (const std::string &name : names) {
    StoredTensor &tensor = table.find(name)->second;
    tensor.decoded = reading.type;
    const std::string nameOfScales = name + "_scale_inv";
    auto scales = table.find(nameOfScales);
    if (!reading.scaling) {
      if (scales == table.end() && (scales = table.find(name + "_scale")) == table.end())
        continue;
      return Error{shownPath(source) + ": tensors " + quoted(name) + " of " + tensor.dtype + " and " +
                   quoted(scales->first) + ": a quantization_config with quant_method \"fp8\" must say what they mean"};
    }
    if (scales == table.end())
      return Error{shownPath(source) + ": tensor " + quoted(name) + " of " + tensor.dtype + " has no scales " +
                   quoted(nameOfScales) + ", which quantization_config (fp8) needs"};
    RAPT_RETURN_IF_ERROR(addScales(tensor, scales->second, *reading.scaling));
    table.erase(scales);
    // The scale of quantized activations, which stay as they are.
    if (constexpr std::string_view weight = ".weight"; name.ends_with(weight))
      table.erase(name.substr(0, name.size() - weight.size()) + ".activation_scale");
  }
  return {};
}

Expected<TensorTable> TensorTable::loadFiles(const std::string &directory, std::vector<std::string> &warnings) {
  TensorTable table;
  std::string single = directory + "/model.safetensors", index = single + ".index.json";
  if (!entryExists(single)) {
    table.source = index;
    if (!entryExists(index))
      return describeMissingWeights(directory);
    RAPT_RETURN_IF_ERROR(table.loadShards(directory, warnings));
    return table;
  }
  return loadFile(single);
}

Expected<TensorTable> TensorTable::loadFile(const std::string &path) {
  TensorTable table;
  table.source = path;
  RAPT_ASSIGN_OR_RETURN(auto file, InputFile::open(path));
  RAPT_ASSIGN_OR_RETURN(auto tensors, readSafeTensors(file));
  for (StoredTensor &tensor : tensors) {
    std::string name = tensor.name;
    table.table.emplace(std::move(name), std::move(tensor));
  }
  return table;
}

std::string TensorTable::shown(std::string_view name) const {
  const std::string own = nameInFile ? nameInFile(name) : "";
  return own.empty() ? quoted(name) : quoted(own) + " (" + quoted(name) + ")";
}

TensorTable TensorTable::of(const std::string &path, std::vector<StoredTensor> tensors, NameInFile nameInFile) {
  TensorTable table;
  table.source = path;
  table.nameInFile = std::move(nameInFile);
  for (StoredTensor &tensor : tensors)
    table.replace(std::move(tensor));
  return table;
}

void TensorTable::addPrefix(const std::string &prefix) {
  decltype(table) before;
  before.swap(table);
  for (auto &[name, tensor] : before) {
    tensor.name = prefix + name;
    replace(std::move(tensor));
  }
  if (nameInFile)
    nameInFile = [prefix, inFile = std::move(nameInFile)](std::string_view name) {
      return name.starts_with(prefix) ? inFile(name.substr(prefix.size())) : std::string();
    };
}

void TensorTable::merge(TensorTable other) {
  for (auto &[name, tensor] : other.table)
    replace(std::move(tensor));
  nameInFile = [own = std::move(nameInFile), others = std::move(other.nameInFile)](std::string_view name) {
    std::string found = own ? own(name) : "";
    return found.empty() && others ? others(name) : found;
  };
}

/// The index's weight_map: tensor name -> shard's file name, every name checked.
static Expected<std::map<std::string, std::string, std::less<>>> readIndex(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, readDownloadedJson(path, mostIndexBytes));
  std::string shown = shownPath(path);
  const json::Value *entries = root.find("weight_map");
  if (!entries || !entries->isObject())
    return Error{shown + ": no weight_map (an object: tensor name -> file name)"};
  std::map<std::string, std::string, std::less<>> map;
  for (const auto &[tensor, file] : *entries->asObject()) {
    std::string entry = shown + ": weight_map: tensor " + quoted(tensor) + ": ";
    if (!file.isString())
      return Error{entry + "its file is not a string"};
    if (!isSafeName(*file.asString()))
      return Error{entry + "file name " + quoted(*file.asString()) +
                   " is not a single name inside the model's directory"};
    if (!file.asString()->ends_with(".safetensors"))
      return Error{entry + "file name " + quoted(*file.asString()) + " does not end in .safetensors"};
    map.emplace(tensor, *file.asString());
  }
  return map;
}

Status TensorTable::loadShards(const std::string &directory, std::vector<std::string> &warnings) {
  RAPT_ASSIGN_OR_RETURN(auto index, readIndex(source));
  std::map<std::string, std::vector<std::string>> shards; // file -> tensors the index puts there
  for (const auto &[tensor, file] : index)
    shards[file].push_back(tensor);
  std::vector<std::string> unnamed;
  for (const auto &[name, expected] : shards) {
    std::string path = directory + "/" + name;
    if (!entryExists(path))
      return Error{shownPath(source) + ": shard " + quoted(name) + " with " + std::to_string(expected.size()) +
                   " tensors (the first is " + quoted(expected.front()) + ") is missing from " + shownPath(directory) +
                   (entryExists(path + ".incomplete") ? "; its download is unfinished" : "")};
    RAPT_ASSIGN_OR_RETURN(auto file, InputFile::open(path));
    RAPT_ASSIGN_OR_RETURN(auto tensors, readSafeTensors(file));
    for (StoredTensor &tensor : tensors) {
      auto at = index.find(tensor.name);
      if (at == index.end() || at->second != name)
        unnamed.push_back(quoted(tensor.name) + " of " + quoted(name));
      else
        table.emplace(at->first, std::move(tensor));
    }
    for (const std::string &tensor : expected)
      if (!table.contains(tensor))
        return Error{shownPath(source) + ": tensor " + quoted(tensor) + " should be in shard " + shownPath(path) +
                     ", which holds " + std::to_string(tensors.size()) + " tensors but not that one"};
  }
  if (!unnamed.empty()) {
    std::string note = shownPath(source) + ": " + std::to_string(unnamed.size()) +
                       " tensors of the shards are not in the index and are ignored: ";
    for (size_t i = 0; i < unnamed.size() && i < mostNamed; ++i)
      note += (i ? ", " : "") + unnamed[i];
    warnings.push_back(note + (unnamed.size() > mostNamed ? ", ..." : ""));
  }
  return {};
}

const StoredTensor *TensorTable::find(std::string_view name) const {
  auto at = table.find(name);
  return at == table.end() ? nullptr : &at->second;
}
