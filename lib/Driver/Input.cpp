//===- Input.cpp - The kinds of MODEL on the command line ---------------------------------===//
#include "lib/Driver/Input.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Driver/Output.h"
#include "lib/Formats/GGUF/Describe.h"
#include "lib/Formats/GGUF/Tokenizer.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Import/Families/Import.h"
#include "lib/Support/File.h"
#include "lib/Support/IRText.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <array>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

constexpr uint64_t mostTextBytes = uint64_t(1) << 30;
/// A static shape whose elements a 64-bit size cannot count; MLIR accepts it silently.
bool overflows(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return false;
  int64_t elements = 1;
  for (int64_t extent : shaped.getShape())
    if (!ShapedType::isDynamic(extent) && __builtin_mul_overflow(elements, extent, &elements))
      return true;
  return elements > INT64_MAX / 16;
}

LogicalResult checkShapes(ModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) {
    bool bad = llvm::any_of(op->getResultTypes(), overflows);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        bad |= llvm::any_of(block.getArgumentTypes(), overflows);
    for (NamedAttribute attribute : op->getAttrs())
      if (auto type = dyn_cast<TypeAttr>(attribute.getValue())) {
        bad |= overflows(type.getValue());
        if (auto function = dyn_cast<FunctionType>(type.getValue()))
          bad |= llvm::any_of(function.getInputs(), overflows) || llvm::any_of(function.getResults(), overflows);
      }
    if (!bad)
      return WalkResult::advance();
    op->emitError("a shape has more elements than 64 bits can count");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

Expected<Input> readText(MLIRContext &context, Diagnostics &diagnostics, const Options &options) {
  RAPT_ASSIGN_OR_RETURN(std::string text,
                        options.inputText ? *options.inputText : readFile(options.input, mostTextBytes));
  RAPT_RETURN_IF_ERROR(withContext(shownPath(options.input), checkIRText(text)));
  Input input;
  input.kind = InputKind::MLIR;
  input.name = options.input == kStandardInput ? "stdin" : stemOf(options.input);
  // Nothing in the module depends on where its text lies.
  input.source = std::make_shared<Source>(input.name + ".mlir", options.input, std::move(text));
  diagnostics.setSource(input.source);
  input.module = parseSourceString<ModuleOp>(input.source->text, ParserConfig(&context), input.source->location);
  // The context's handler has told what is wrong.
  if (!input.module || failed(checkShapes(*input.module)))
    return Error{""};
  return input;
}

/// The model of a directory, a configuration or a GGUF file.
Expected<huggingface::ModelDescription> openModel(InputKind kind, const Options &options,
                                                  huggingface::LoadOptions load) {
  if (kind != InputKind::GGUF && !options.mmproj.empty())
    return Error{shownPath(options.input) + ": --mmproj is for a GGUF file; a directory has its own images"};
  if (kind != InputKind::GGUF)
    return huggingface::ModelDescription::load(options.input, std::move(load));
  RAPT_ASSIGN_OR_RETURN(gguf::File file, gguf::File::open(options.input));
  if (options.dryRun) // also of a model that cannot be compiled
    RAPT_RETURN_IF_ERROR(writeText("", gguf::describe(file)));
  std::optional<gguf::File> images;
  if (!options.mmproj.empty()) {
    RAPT_ASSIGN_OR_RETURN(images, gguf::File::open(options.mmproj));
  }
  RAPT_ASSIGN_OR_RETURN(huggingface::ModelParts parts,
                        importing::describeGGUF(file, options.configKeys, images ? &*images : nullptr));
  if (options.tokenizer.empty()) {
    RAPT_ASSIGN_OR_RETURN(huggingface::SideFiles files, gguf::tokenizerFiles(file.metadata(), parts.warnings));
    parts.files.merge(std::move(files));
  } else {
    RAPT_ASSIGN_OR_RETURN(parts.files["generation_config.json"], gguf::generationFile(file.metadata(), parts.warnings));
  }
  return huggingface::ModelDescription::make(std::move(parts), std::move(load));
}

Expected<Input> readModel(InputKind kind, MLIRContext &context, const Options &options) {
  huggingface::LoadOptions load;
  load.randomSeed = options.randomSeed;
  load.noWeights = options.noWeights;
  load.strict = options.strict || kind == InputKind::GGUF; // whose tensors all count
  load.ignoreKeys = options.ignoreKeys;
  load.configKeys = options.configKeys;
  load.tokenizer = options.tokenizer;
  for (const auto &[directory, weight] : options.adapters)
    load.adapters.push_back({directory, weight});
  for (const Options::NamedAdapter &adapter : options.namedAdapters)
    load.namedAdapters.push_back({adapter.name, {adapter.directory, adapter.weight}});
  load.accept = checkFamily;
  load.defaultClasses = importing::defaultClassesOf;
  RAPT_ASSIGN_OR_RETURN(huggingface::ModelDescription model, openModel(kind, options, load));
  Input input;
  input.kind = kind;
  input.name = model.name();
  input.model.emplace(std::move(model));
  ImportOptions import;
  import.maxSequenceLength = options.maxSequenceLength;
  import.maxBatch = options.maxBatch;
  import.attentionWeights = options.attentionWeights.given;
  for (artifact::DType type : {artifact::DType::F32, artifact::DType::BF16, artifact::DType::F16})
    if (options.dtype == artifact::nameOf(type))
      import.storage = type;
  Expected<OwningOpRef<ModuleOp>> module = importModel(context, *input.model, import);
  for (const std::string &warning : input.model->warnings())
    emitWarning(UnknownLoc::get(&context)) << warning;
  RAPT_ASSIGN_OR_RETURN(input.module, std::move(module));
  for (const std::string &line : input.model->config().needlessIgnores())
    emitWarning(UnknownLoc::get(&context)) << line;
  for (const auto &[name, bytes] : input.model->files())
    input.sections.push_back({name, bytes});
  return input;
}

} // namespace

/// ORG/NAME, or NAME of the oldest models, as the Hugging Face Hub names models, also behind its address; else empty.
static StringRef hubNameOf(StringRef path) {
  const bool isAddress = path.consume_front("https://huggingface.co/") || path.consume_front("https://hf.co/");
  SmallVector<StringRef> parts;
  path.split(parts, '/', -1, /*KeepEmpty=*/!isAddress);
  if (isAddress && parts.size() > 2) // .../tree/main
    path = path.take_front(parts[1].end() - path.begin());
  else if (parts.empty() || parts.size() > 2 || (parts.size() == 1 && path.contains('.')))
    return "";
  return llvm::all_of(ArrayRef(parts).take_front(2),
                      [](StringRef part) {
                        return !part.empty() && llvm::isAlnum(part.front()) && llvm::all_of(part, [](char c) {
                          return llvm::isAlnum(c) || StringRef("-_.").contains(c);
                        });
                      })
             ? path.rtrim('/')
             : "";
}

/// A snapshot in the folder that the Hub's cache has for a model, which holds the files; else empty.
static std::string findSnapshot(const std::string &path) {
  std::error_code error;
  std::string found;
  for (llvm::sys::fs::directory_iterator entry(path + "/snapshots", error), end; !error && entry != end;
       entry.increment(error))
    if (huggingface::entryExists(entry->path() + "/config.json"))
      found = std::max(found, entry->path());
  return found;
}

/// A directory without a configuration that holds a model of another kind; else success.
static Status checkDirectory(const std::string &path) {
  const bool isAdapter = huggingface::entryExists(path + "/adapter_config.json");
  if (isAdapter)
    return Error{shownPath(path) +
                 ": holds an adapter (adapter_config.json), not a whole model: give its base model's directory, and "
                 "this one as --adapter"};
  if (huggingface::entryExists(path + "/config.json"))
    return {};
  if (const std::string snapshot = findSnapshot(path); !snapshot.empty())
    return Error{shownPath(path) + ": is a folder of the Hugging Face cache; give the snapshot in it, " +
                 shownPath(snapshot)};
  for (const std::string &name : huggingface::listWeightFiles(path)) {
    auto holds = [&](const std::string &what) {
      return Error{shownPath(path) + ": holds " + shownPath(name) + ", " + what};
    };
    if (StringRef(name).ends_with(".gguf"))
      return holds("a GGUF file, and no config.json: give the file itself");
    if (StringRef(name).ends_with(".onnx"))
      return holds("an ONNX model, and no config.json; raptc reads the Hugging Face model it was made from: a "
                   "directory with config.json and model.safetensors");
    for (const char *suffix : {".pt", ".pth", ".bin", ".ckpt", ".pkl"})
      if (StringRef(name).ends_with(suffix))
        return holds("which PyTorch wrote, and no config.json; raptc reads a directory with config.json and "
                     "model.safetensors, as `model.save_pretrained(DIR)` writes it");
  }
  return {};
}

Status driver::takeStream(Options &options) {
  if (options.input != "-" && !isFifo(options.input))
    return {};
  RAPT_ASSIGN_OR_RETURN(options.inputText, options.input == "-"
                                               ? readStream(STDIN_FILENO, "standard input", mostTextBytes)
                                               : readFileOrFifo(options.input, mostTextBytes));
  if (options.input == "-")
    options.input = kStandardInput;
  return {};
}

/// The first bytes of an input that is no directory.
static Expected<std::string> readHead(const Options &options) {
  constexpr uint64_t bytes = 4096;
  if (options.inputText)
    return options.inputText->substr(0, bytes);
  RAPT_ASSIGN_OR_RETURN(std::shared_ptr<const InputFile> file, InputFile::open(options.input));
  std::string head(std::min(file->size(), bytes), '\0');
  RAPT_RETURN_IF_ERROR(file->read(0, std::as_writable_bytes(std::span(head))));
  return head;
}

Expected<InputKind> driver::detectInput(const Options &options) {
  const std::string &path = options.input;
  struct stat status;
  const bool exists = options.inputText || stat(path.c_str(), &status) == 0;
  if (exists && !options.inputText && S_ISDIR(status.st_mode)) {
    RAPT_RETURN_IF_ERROR(checkDirectory(path));
    return InputKind::HuggingFace;
  }
  if (const StringRef name = hubNameOf(path); !exists && !name.empty())
    return Error{shownPath(path) +
                 ": No such file or directory; raptc does not download models: if this is a name on "
                 "the Hugging Face Hub, run `hf download " +
                 name.str() + " --local-dir " + name.substr(name.rfind('/') + 1).str() + "` and give that directory"};
  if (!exists && (StringRef(path).starts_with("https://") || StringRef(path).starts_with("http://")))
    return Error{shownPath(path) + ": raptc does not download models; give a directory"};
  RAPT_ASSIGN_OR_RETURN(std::string head, readHead(options));
  StringRef start = StringRef(head);
  start.consume_front("\xef\xbb\xbf");
  std::string wrong;
  if (std::string foreign = huggingface::describeForeignContent(head); !foreign.empty())
    return Error{shownPath(path) + ": " + foreign};
  if (std::string older = gguf::describeOlderFormat(head); !older.empty())
    return Error{shownPath(path) + ": " + older};
  if (gguf::isGGUF(head) && !options.inputText)
    return InputKind::GGUF;
  if (start.trim().empty())
    wrong = "is empty";
  else if (start.starts_with("\x7f"
                             "ELF"))
    wrong = "is compiled already";
  else if (gguf::isGGUF(head))
    wrong = "is a GGUF file, which is read from a file alone; give its path";
  else if (start.starts_with("ML\xefR"))
    wrong = "is MLIR bytecode; print it as text";
  else if (start.size() > 9 && start[8] == '{' && start.take_front(8).contains('\0'))
    wrong = "is a file of weights; give the directory that holds it and its config.json";
  else if (start[0] == '\x08' && start.size() > 2)
    wrong = "is an ONNX model; give the directory of the Hugging Face model it was made from";
  else if (start.contains('\0'))
    wrong = "is neither a configuration nor MLIR text";
  if (!wrong.empty())
    return Error{shownPath(path) + ": " + wrong +
                 " (raptc takes a directory with config.json, a config.json, a GGUF file, or .mlir text)"};
  if (start.ltrim().front() != '{' || start.ltrim().starts_with("{-#"))
    return InputKind::MLIR;
  if (options.inputText)
    return Error{shownPath(path) + ": is a configuration, beside which raptc reads the other files of its model; give "
                                   "the path of its file or directory"};
  return InputKind::HuggingFace;
}

Expected<Input> driver::readInput(MLIRContext &context, Diagnostics &diagnostics, const Options &options) {
  RAPT_ASSIGN_OR_RETURN(InputKind kind, detectInput(options));
  return kind == InputKind::MLIR ? readText(context, diagnostics, options) : readModel(kind, context, options);
}
