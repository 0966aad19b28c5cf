//===- main.cpp - print-imported: what the importer makes of a model ----------===//
#include "lib/Driver/Batch.h"
#include "lib/Import/Families/Import.h"
#include "lib/Transforms/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace rapt;

/// The module that is read from the text of another one, where it passes --attn-verify-imported; else null.
static mlir::OwningOpRef<mlir::ModuleOp> readAgain(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  auto again = mlir::parseSourceString<mlir::ModuleOp>(text, module.getContext());
  mlir::PassManager passes(module.getContext(), mlir::ModuleOp::getOperationName());
  passes.addPass(createAttnVerifyImported());
  return again && mlir::succeeded(passes.run(*again)) ? std::move(again) : nullptr;
}

static int run(int argc, const char *const *argv) {
  llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("MODEL"));
  llvm::cl::opt<bool> weights("weights",
                              llvm::cl::desc("read the headers of the weights, instead of the config alone"));
  llvm::cl::opt<bool> families("list-families", llvm::cl::desc("print the supported values of model_type"));
  llvm::cl::opt<bool> locations("locations", llvm::cl::desc("print the location of every op"));
  llvm::cl::opt<bool> verify("verify", llvm::cl::desc("print what is read from the module's text, where it passes "
                                                      "--attn-verify-imported"));
  llvm::cl::list<std::string> ignored("ignore-config-key", llvm::cl::desc("a key of config.json to ignore"));
  ImportOptions options;
  llvm::cl::opt<int64_t, true> positions("max-seq-len", llvm::cl::location(options.maxSequenceLength));
  llvm::cl::opt<int64_t, true> batch("max-batch", llvm::cl::location(options.maxBatch));
  llvm::cl::opt<int64_t, true> tokens("max-tokens", llvm::cl::location(options.maxTokens));
  using artifact::DType;
  llvm::cl::opt<DType> storage("dtype", llvm::cl::desc("the type in which weights will be stored"),
                               llvm::cl::values(clEnumValN(DType::F32, "f32", ""), clEnumValN(DType::BF16, "bf16", ""),
                                                clEnumValN(DType::F16, "f16", "")));
  llvm::cl::opt<int64_t, true> block("cache-block", llvm::cl::location(options.cacheBlock));
  llvm::cl::ParseCommandLineOptions(argc, argv, "Prints the imported stage of a model.\n");

  if (storage.getNumOccurrences())
    options.storage = storage;
  if (families) {
    for (std::string_view name : listFamilies())
      llvm::outs() << name << "\n";
    return 0;
  }
  auto fail = [](const Error &error) {
    llvm::errs() << "error: " << error.message << "\n";
    return 1;
  };
  Expected<huggingface::ModelDescription> model = huggingface::ModelDescription::load(
      path, {.noWeights = !weights, .ignoreKeys = {ignored.begin(), ignored.end()}});
  if (!model)
    return fail(model.error());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    bool warning = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
    llvm::errs() << (warning ? "warning: " : "error: ") << diagnostic << "\n";
  });
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = importModel(context, *model, options);
  if (!module)
    return fail(module.error());
  for (const std::string &warning : model->warnings())
    llvm::errs() << "warning: " << warning << "\n";
  if (verify && !(*module = readAgain(**module)))
    return 1;
  mlir::OpPrintingFlags flags;
  (*module)->print(llvm::outs(), locations ? flags.enableDebugInfo(true, /*prettyForm=*/true) : flags);
  llvm::outs() << "\n";
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2 || llvm::StringRef(argv[1]) != "--batch")
    return run(argc, argv);
  return driver::runBatch("print-imported", driver::BatchPlace::Child, [&](const std::vector<std::string> &line) {
    std::vector<const char *> arguments = {argv[0]};
    for (const std::string &argument : line)
      arguments.push_back(argument.c_str());
    return run(int(arguments.size()), arguments.data());
  });
}
