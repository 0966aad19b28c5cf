//===- IRFile.h - The .mlir files of tools that parse with upstream's drivers ------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace rapt::driver {

/// The bytes of a file, or of the standard input for "-": bytecode, or text within the bounds of lib/Support/IRText.
/// Errors name the file.
Expected<std::unique_ptr<llvm::MemoryBuffer>> openIRFile(llvm::StringRef name);

} // namespace rapt::driver
