//===- IRFile.cpp - The .mlir files of tools that parse with upstream's drivers --------------===//
#include "lib/Driver/IRFile.h"
#include "lib/Support/IRText.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Support/FileUtilities.h"

using namespace rapt;

Expected<std::unique_ptr<llvm::MemoryBuffer>> driver::openIRFile(llvm::StringRef name) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = mlir::openInputFile(name, &message);
  if (!buffer)
    return Error{message};
  if (mlir::isBytecode(*buffer))
    return buffer;
  if (Status checked = checkIRText(std::string_view(buffer->getBuffer())); !checked)
    return Error{buffer->getBufferIdentifier().str() + ": " + checked.error().message};
  return buffer;
}
