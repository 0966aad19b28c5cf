//===- Compile.cpp - From an input to the stage that was asked for ----------------===//
//
// The one file that calls the compiler's libraries in order.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Compile.h"
#include "lib/Artifact/StagedFile.h"
#include "lib/Import/Import.h"
#include "lib/InitAll.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Support/File.h"
#include "lib/Target/CPU/Emit.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace rapt::driver {

namespace {

/// The first error the context reported, in one line.
class Diagnostics {
public:
  Diagnostics(MLIRContext &context, llvm::raw_ostream &err)
      : handler(&context, [this, &err](Diagnostic &diagnostic) {
          std::string line;
          llvm::raw_string_ostream stream(line);
          if (!isa<UnknownLoc>(diagnostic.getLocation()))
            stream << diagnostic.getLocation() << ": ";
          stream << diagnostic;
          if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
            err << "raptc: warning: " << line << "\n";
          else if (diagnostic.getSeverity() == DiagnosticSeverity::Error && first.empty())
            first = line;
        }) {}
  Error error(StringRef fallback) const { return Error{first.empty() ? fallback.str() : first}; }

private:
  std::string first;
  ScopedDiagnosticHandler handler;
};

Expected<OwningOpRef<ModuleOp>> parseText(MLIRContext &context, const std::string &path, const Diagnostics &told) {
  Expected<std::string> text = readFile(path, uint64_t(256) << 20);
  if (!text)
    return text.error();
  if (const unsigned depth = nestingDepth(*text); depth > maxNesting)
    return Error{shownPath(path) + ": brackets nest " + std::to_string(depth) + " deep, at most " +
                 std::to_string(maxNesting) + " are accepted"};
  auto module = parseSourceString<ModuleOp>(*text, ParserConfig(&context), path);
  if (!module)
    return told.error(path + ": not MLIR text");
  return Expected<OwningOpRef<ModuleOp>>(std::move(module));
}

Expected<OwningOpRef<ModuleOp>> readInput(MLIRContext &context, const Options &options, const Diagnostics &told,
                                          llvm::raw_ostream &err) {
  if (StringRef(options.input).ends_with(".mlir"))
    return parseText(context, options.input, told);
  if (StringRef(options.input).ends_with(".onnx"))
    return Error{shownPath(options.input) + ": ONNX files are not supported; compile the Hugging Face directory"};
  huggingface::LoadOptions load;
  load.randomSeed = options.randomSeed;
  load.noWeights = options.noWeights;
  load.strict = options.strict;
  load.ignoreKeys = options.ignoreKeys;
  auto model = huggingface::ModelDescription::load(options.input, std::move(load));
  if (!model)
    return model.error();
  ImportOptions bounds;
  bounds.maxSequenceLength = options.maxSequenceLength;
  bounds.maxBatch = options.maxBatch;
  auto module = importModel(context, *model, bounds);
  for (const std::string &warning : model->warnings())
    err << "raptc: warning: " << warning << "\n";
  return module;
}

Status writeOutput(const std::string &path, StringRef bytes, llvm::raw_ostream &out) {
  if (path.empty() || path == "-") {
    out << bytes;
    return {};
  }
  auto file = artifact::StagedFile::create(path);
  if (!file)
    return file.error();
  if (Status status = (*file)->writeAt(0, std::as_bytes(std::span(bytes.data(), bytes.size()))); !status)
    return status;
  return (*file)->commit();
}

} // namespace

Status compileStage(const Options &options, llvm::raw_ostream &out, llvm::raw_ostream &err) {
  if (options.emit == "so" || options.emit == "a")
    return Error{"--emit=" + options.emit + " needs packed weights and a manifest; stages up to obj can be emitted"};
  if (options.dryRun || options.checkTensors || options.showCommands || options.saveTemps ||
      !options.saveWeights.empty() || !options.dumpDirectory.empty() || !options.weights.empty())
    return Error{
        "--dry-run, --check-tensors, -###, -save-temps, --save-weights, --dump-dir and --weights have no effect "
        "on a text stage"};
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Diagnostics told(context, err);
  auto target = cpu::Target::make(options.cpu, options.attributes);
  if (!target)
    return target.error();
  auto module = readInput(context, options, told, err);
  if (!module)
    return module.error();

  const std::optional<Stage> wanted = stageNamed(options.emit);
  const Stage from = stageOf(**module), to = wanted.value_or(Stage::LLVMDialect);
  if (from > to)
    return Error{shownPath(options.input) + ": already at the stage " + nameOf(from).str() + ", beyond " +
                 options.emit};
  PassManager passes(&context);
  PipelineOptions pipeline;
  pipeline.target = target->info();
  pipeline.dtype = options.dtype;
  buildPipeline(passes, from, to, pipeline);
  if (failed(passes.run(**module)))
    return told.error("compilation failed");

  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (wanted) {
    (*module)->print(stream);
    stream << "\n";
  } else {
    const cpu::Output kind = options.emit == "llvm-ir" ? cpu::Output::LLVMIR
                             : options.emit == "asm"   ? cpu::Output::Assembly
                                                       : cpu::Output::Object;
    if (Status status = cpu::emit(**module, *target, nullptr, kind, stream); !status)
      return status;
  }
  return writeOutput(options.output, bytes, out);
}

} // namespace rapt::driver
