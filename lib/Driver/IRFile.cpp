//===- IRFile.cpp - The .mlir files of tools that parse with upstream's drivers --------------===//
#include "lib/Driver/IRFile.h"
#include "lib/Support/File.h"
#include "lib/Support/IRText.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace rapt;

Expected<std::unique_ptr<llvm::MemoryBuffer>> driver::openIRFile(llvm::StringRef name) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = mlir::openInputFile(name, &message);
  if (!buffer)
    return Error{message};
  if (mlir::isBytecode(*buffer))
    return buffer;
  RAPT_RETURN_IF_ERROR(
      withContext(buffer->getBufferIdentifier().str(), checkIRText(std::string_view(buffer->getBuffer()))));
  return buffer;
}

Status driver::writeIRFile(const std::string &name, llvm::function_ref<LogicalResult(raw_ostream &)> write) {
  if (name == "-")
    return succeeded(write(llvm::outs())) ? Status() : Error{""};
  if (isNullDevice(name))
    return succeeded(write(llvm::nulls())) ? Status() : Error{""};
  RAPT_ASSIGN_OR_RETURN(auto file, OutputFile::create(name));
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(write(stream)))
    return Error{""};
  RAPT_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

CommandFiles driver::listIRFiles(int argc, const char *const *argv, const std::string &input,
                                 const std::string &output) {
  CommandFiles files;
  if (input == "-")
    files.addStandardInput();
  else
    files.addInput(input, "the input");
  if (output != "-")
    files.addOutput(output, "the output");
  for (int i = 1; i < argc; ++i) {
    StringRef argument = StringRef(argv[i]).ltrim('-');
    auto [name, value] = argument.split('=');
    if (!argument.contains('=') && i + 1 < argc)
      value = argv[i + 1];
    const std::string path = value.str(), role = "--" + name.str();
    if (llvm::is_contained({"load-pass-plugin", "load-dialect-plugin", "irdl-file"}, name))
      files.addInput(path, role);
    else if (llvm::is_contained({"mlir-generate-reproducer", "mlir-pass-pipeline-crash-reproducer",
                                 "remarks-output-file", "log-actions-to", "profile-actions-to"},
                                name) &&
             path != "-")
      files.addOutput(path, role);
    else if (name == "mlir-print-ir-tree-dir")
      files.addOutputs(path, "", role);
    SmallVector<StringRef> words; // of a pipeline: {option=value option=value}
    llvm::SplitString(value, words, " {},()");
    for (StringRef word : words) { // of passes that reduce, and of those that transform scripts are for
      if (word.consume_front("test="))
        files.addInput(word.str(), "the test");
      else if (word.consume_front("transform-library-paths="))
        files.addInput(word.str(), "a transform library");
    }
  }
  return files;
}
