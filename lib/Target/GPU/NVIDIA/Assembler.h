//===- Assembler.h - Machine code of PTX by ptxas --------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/Target.h"

namespace rapt::cuda {

/// The folders that may have a ptxas: those of PATH, CUDA_HOME/bin and /usr/local/cuda/bin.
std::vector<std::string> assemblerFolders();

/// The first ptxas in these folders that is new enough for Rapt's PTX.
Expected<std::string> findAssembler(const std::vector<std::string> &folders);

/// Machine code of PTX for an architecture.
Expected<std::string> assembleText(const std::string &assembler, llvm::StringRef text, llvm::StringRef architecture);

/// Puts machine code in front of the PTX of each gpu.binary, or in place of it unless `keepsText`.
Status assemble(mlir::ModuleOp module, Target::AssembleText assembleText, bool keepsText);

} // namespace rapt::cuda
