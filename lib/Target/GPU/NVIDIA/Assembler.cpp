//===- Assembler.cpp - Machine code of PTX by ptxas --------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Assembler.h"
#include "lib/Support/ChildProcess.h"
#include "lib/Support/File.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace rapt;

namespace {

const std::string kName = "ptxas"; ///< in messages
/// The oldest CUDA whose ptxas takes the PTX that Rapt makes: 12.0 has PTX 8.0.
constexpr unsigned kLeastMajor = 12;
constexpr StringLiteral kWay = "install the CUDA toolkit, or give --gpu-code=ptx";

/// The version of CUDA in "Cuda compilation tools, release 13.0, V13.0.88"; major 0 where there is none.
std::pair<unsigned, unsigned> versionIn(StringRef text) {
  std::pair<unsigned, unsigned> version = {0, 0};
  StringRef number = text.split(", release ").second;
  if (number.consumeInteger(10, version.first) || !number.consume_front(".") ||
      number.consumeInteger(10, version.second))
    return {0, 0};
  return version;
}

/// Fails for a program that is no ptxas, or is too old.
Status check(const std::string &assembler) {
  const MemoryFile output("");
  RAPT_RETURN_IF_ERROR(output.status(0));
  RAPT_RETURN_IF_ERROR(runProgram({assembler, "--version"}, kName, output));
  RAPT_ASSIGN_OR_RETURN(std::string text, output.text(kName));
  const auto [major, minor] = versionIn(text);
  if (major == 0)
    return Error{shownPath(assembler) + ": --version names no release of CUDA; " + kWay.str()};
  if (major < kLeastMajor)
    return Error{shownPath(assembler) + ": is of CUDA " + std::to_string(major) + "." + std::to_string(minor) +
                 ", machine code needs " + std::to_string(kLeastMajor) + ".0 or newer; " + kWay.str()};
  return {};
}

} // namespace

Expected<std::string> cuda::assembleText(const std::string &assembler, StringRef text, StringRef architecture) {
  const MemoryFile input(text), code(""), output("");
  for (const MemoryFile *file : {&input, &code, &output})
    RAPT_RETURN_IF_ERROR(file->status(text.size()));
  RAPT_RETURN_IF_ERROR(
      runProgram({assembler, "-arch=" + architecture.str(), input.path(), "-o", code.path()}, kName, output));
  Expected<std::string> bytes = code.text(kName);
  if (bytes && !StringRef(*bytes).starts_with("\x7f"
                                              "ELF"))
    return Error{shownPath(assembler) + ": ptxas succeeded, but wrote no machine code"};
  return bytes;
}

std::vector<std::string> cuda::assemblerFolders() {
  std::vector<std::string> folders;
  if (const char *path = getenv("PATH"))
    for (StringRef folder : llvm::split(path, ':'))
      if (!folder.empty())
        folders.push_back(folder.str());
  if (const char *home = getenv("CUDA_HOME"); home && *home)
    folders.push_back(std::string(home) + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  return folders;
}

Expected<std::string> cuda::findAssembler(const std::vector<std::string> &folders) {
  Status first;
  for (const std::string &folder : folders) {
    const std::string path = folder + "/ptxas";
    if (access(path.c_str(), X_OK) != 0)
      continue;
    Status good = check(path);
    if (good)
      return path;
    if (first)
      first = good;
  }
  RAPT_RETURN_IF_ERROR(first);
  return Error{"no ptxas in PATH, CUDA_HOME/bin and /usr/local/cuda/bin, which machine code needs; " + kWay.str()};
}

Status cuda::assemble(ModuleOp module, Target::AssembleText assembleText, bool keepsText) {
  OpBuilder b(module.getContext());
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    SmallVector<Attribute> objects;
    for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>()) {
      auto target = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
      if (!target || object.getFormat() != gpu::CompilationTarget::Assembly) {
        objects.push_back(object);
        continue;
      }
      RAPT_ASSIGN_OR_RETURN(std::string code,
                            assembleText(object.getObject().getValue().rtrim('\0'), target.getChip()));
      objects.push_back(gpu::ObjectAttr::get(module.getContext(), target, gpu::CompilationTarget::Binary,
                                             b.getStringAttr(code), object.getProperties(), object.getKernels()));
      if (keepsText)
        objects.push_back(object);
    }
    binary.setObjectsAttr(b.getArrayAttr(objects));
  }
  return {};
}
