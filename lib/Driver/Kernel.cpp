//===- Kernel.cpp - Bare kernels ---------------------------------------------------------------===//
#include "lib/Driver/Kernel.h"
#include "lib/Artifact/KernelHeader.h"
#include "lib/Artifact/StagedFile.h"

using namespace rapt;
using namespace rapt::driver;

Status driver::checkKernelNames(const artifact::Manifest &manifest) {
  std::vector<std::string> names;
  for (const json::Value &entry : manifest.entries) {
    names.push_back(*entry.find("name")->asString());
    for (const json::Value &dim : *entry.find("dims")->asArray())
      names.push_back(*dim.asString());
    for (const json::Value &buffer : *entry.find("buffers")->asArray())
      names.push_back(*buffer.find("name")->asString());
  }
  for (const std::string &name : names)
    if (artifact::prefixOf(name) != name || artifact::isCKeyword(name))
      return Error{"\"" + name + "\" is no C identifier, which names of a kernel's entries, dims and buffers are"};
  return {};
}

std::vector<std::string> driver::kernelExports(const artifact::Manifest &manifest) {
  std::vector<std::string> exports;
  for (const json::Value &entry : manifest.entries)
    for (const char *suffix : {"", "_scratch"})
      exports.push_back(*entry.find("name")->asString() + suffix);
  return exports;
}

Status driver::writeKernelFiles(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit,
                                const std::string &code) {
  auto header = artifact::StagedFile::createWith(paths.header(), artifact::writeKernelHeader(manifest));
  auto made = stageCode(paths, emit, code);
  for (auto *file : {&header, &made})
    if (!*file)
      return file->error();
  for (auto *file : {&header, &made})
    RAPT_RETURN_IF_ERROR((**file)->commit());
  return {};
}
