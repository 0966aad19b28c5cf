//===- IRFile.h - The .mlir files of tools that parse with upstream's drivers ------*- C++ -*-===//
#pragma once
#include "lib/Support/CommandFiles.h"
#include "lib/Support/Expected.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace rapt::driver {

/// The bytes of a file, or of the standard input for "-": bytecode, or text within the bounds of lib/Support/IRText.
/// Errors name the file.
Expected<std::unique_ptr<llvm::MemoryBuffer>> openIRFile(llvm::StringRef name);

/// Gives the file `name`, or the standard output for "-", what `write` prints; for /dev/null nothing is written. The
/// file appears when it is whole; where `write` fails, which has told why, the error is empty and the file what it was.
Status writeIRFile(const std::string &name, llvm::function_ref<llvm::LogicalResult(llvm::raw_ostream &)> write);

/// The files that a command line of upstream's options names: `input` and `output` ("-": the standard streams),
/// plugins, and what options of passes and of debugging read and write.
CommandFiles listIRFiles(int argc, const char *const *argv, const std::string &input, const std::string &output);

} // namespace rapt::driver
