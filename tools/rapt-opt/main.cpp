//===- main.cpp - rapt-opt: run passes on the text of any stage ---------------===//
#include "lib/Driver/IRFile.h"
#include "lib/Driver/Plugins.h"
#include "lib/InitAll.h"
#include "mlir/Dialect/Linalg/TransformOps/DialectExtension.h"
#include "mlir/Dialect/Transform/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;

static LogicalResult fail(const std::string &message) {
  llvm::errs() << "rapt-opt: error: " << message << "\n";
  return failure();
}

/// MlirOptMain with a check of the text before it is parsed; `output` stays what it is where anything fails.
static LogicalResult optimize(const std::string &input, const std::string &output, DialectRegistry &registry) {
  auto buffer = rapt::driver::openIRFile(input);
  if (!buffer)
    return fail(buffer.error().message);
  rapt::Status written = rapt::driver::writeIRFile(output, [&](llvm::raw_ostream &stream) {
    return MlirOptMain(stream, std::move(*buffer), registry, MlirOptMainConfig::createFromCLOptions());
  });
  return written ? success() : written.error().message.empty() ? failure() : fail(written.error().message);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  rapt::introduceTool("rapt-opt");
  DialectRegistry registry;
  rapt::registerAllDialects(registry);
  rapt::registerAllPasses();
  // Schedules written as transform scripts, which try tilings before a pass has them.
  linalg::registerTransformDialectExtension(registry);
  transform::registerTransformPasses();
  const std::vector<const char *> arguments(argv, argv + argc);
  rapt::driver::Plugins plugins;
  if (rapt::Status loaded = plugins.loadFromArguments(argc, argv); !loaded)
    return asMainReturnCode(fail(loaded.error().message));
  plugins.registerDialects(registry);
  auto [input, output] = registerAndParseCLIOptions(argc, argv, "Rapt's pass driver\n", registry);
  const MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldListPasses() || config.shouldShowDialects())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  const auto files = rapt::driver::listIRFiles(int(arguments.size()), arguments.data(), input, output);
  if (rapt::Status checked = files.check(); !checked)
    return asMainReturnCode(fail(checked.error().message));
  return asMainReturnCode(optimize(input, output, registry));
}
