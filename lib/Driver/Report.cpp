//===- Report.cpp - The lines that raptc prints at its end -------------------------------------===//
#include "lib/Driver/Report.h"
#include "lib/Artifact/KernelHeader.h"
#include "lib/Support/CacheCost.h"
#include "lib/Support/File.h"
#include "lib/Support/Units.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <cstdio>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

namespace {

const std::string notHere = "run: on a CPU of the target, which this machine's is not";

std::string seconds(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.1f s", value);
  return text;
}

std::string fileAndSize(const std::string &path) {
  struct stat status;
  return shownPath(path) + " (" + (stat(path.c_str(), &status) ? "missing" : inUnits(uint64_t(status.st_size))) + ")";
}

std::string modelLine(const artifact::Manifest &m) {
  if (!m.model) {
    const std::string kernels = artifact::describeKernels(m); // a dry run does not know them
    return kernels.empty() ? m.name + ": kernels without a model" : kernels.substr(0, kernels.size() - 1);
  }
  const std::string layers = std::to_string(m.model->layers) + (m.model->layers == 1 ? " layer" : " layers") +
                             " of width " + std::to_string(m.model->hidden) + ", ";
  return m.name + ": " + m.model->family + " " + m.model->task + ", " + (m.model->layers ? layers : "") +
         (m.model->heads ? std::to_string(m.model->heads) + (m.model->heads == 1 ? " head of " : " heads of ") +
                               std::to_string(m.model->headDim) + ", "
                         : "") +
         (m.model->vocabulary ? "vocabulary " + grouped(m.model->vocabulary) + ", " : "") +
         (m.model->sourceVocabulary ? "of sources " + grouped(m.model->sourceVocabulary) + ", " : "") +
         grouped(m.model->parameters) + " parameters (" + m.model->sourceDtype + ")";
}

std::string typesOf(const artifact::Manifest::Cache &cache) {
  std::vector<CacheTypes> parts;
  for (const artifact::Manifest::Cache::Segment &segment : cache.segments)
    parts.push_back({segment.keyDtype, segment.valueDtype});
  return cacheTypes(cache.dtype, parts);
}

/// Bytes of both caches for a token.
CacheCost costOf(const artifact::Manifest &m) {
  CacheCost cost;
  for (const std::optional<artifact::Manifest::Cache> &cache : {m.cache, m.windowCache})
    if (cache) {
      (cache->window ? cost.windowBytes : cost.bytes) += cache->bytesPerToken;
      cost.window = std::max(cost.window, cache->window);
    }
  return cost;
}

std::string limitsLine(const artifact::Manifest &m) {
  const char *rows = m.model && m.model->task.starts_with("tabular-") ? " vectors per step" : " images per step";
  std::string line = "limits: ";
  if (m.maxPositions)
    line += grouped(m.maxPositions) + " positions, ";
  line += m.maxTokens ? grouped(m.maxTokens) + " tokens and " + grouped(m.maxRows) + " sequences per step"
                      : grouped(m.maxRows) + rows;
  if (m.cache)
    line += "; cache: " + cacheCost(costOf(m)) + " (" + typesOf(*m.cache) + ")";
  return line + stateCost(m.stateBytes);
}

/// The GPUs that the code runs on: "sm_90a, sm_80 or newer".
std::string gpusOf(const artifact::Manifest::Device &device) {
  std::vector<std::string> names;
  auto add = [&](const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const auto &images : device.images) {
    // The driver compiles PTX for newer GPUs, too, unless it is for one alone.
    const bool hasText =
        std::any_of(images.begin(), images.end(), [](const auto &image) { return image.form == "ptx"; });
    const std::string &arch = images.front().arch;
    add(arch + (hasText && !arch.ends_with('a') ? " or newer" : ""));
  }
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// The line of the processors that run the code, with the GPUs in front where its kernels are for them.
std::string wholeTargetLine(const artifact::Manifest &manifest, bool everyFeature) {
  std::string line = targetLine(manifest.arch, manifest.variants, std::nullopt, everyFeature);
  if (manifest.device)
    line.insert(line.find(' '), " NVIDIA GPUs of " + gpusOf(*manifest.device) + "; host");
  return line;
}

/// A tool as the user would have to type it: beside raptc when that was named by a path.
std::string toolBeside(const std::string &program, const std::string &tool) {
  const size_t slash = program.rfind('/');
  const std::string beside = slash == std::string::npos ? "" : program.substr(0, slash + 1) + tool;
  return !beside.empty() && access(beside.c_str(), X_OK) == 0 ? shellWord(beside) : tool;
}

/// Whether this machine can run one of the variants.
bool runsHere(const artifact::Manifest &manifest) {
  if (llvm::Triple(llvm::sys::getProcessTriple()).getArchName() != manifest.arch)
    return false;
  const llvm::StringMap<bool> here = llvm::sys::getHostCPUFeatures();
  return std::any_of(manifest.variants.begin(), manifest.variants.end(), [&](const Variant &variant) {
    return std::all_of(variant.features.begin(), variant.features.end(), [&](const std::string &feature) {
      auto found = here.find(feature); // what LLVM does not look for, every CPU of the architecture has
      return found == here.end() || found->second;
    });
  });
}

/// Where the program's code goes into another one.
std::string linkLine(const OutputPaths &paths) {
  return "try: #include \"" + shownPath(paths.base) + ".h\" and link " + shownPath(paths.main);
}

std::string libraryOf(const OutputPaths &paths) {
  return shellWord(shownPath((paths.main.find('/') == std::string::npos ? "./" : "") + paths.main));
}

std::string tryLine(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit, const Options &options,
                    const ExampleTexts &texts) {
  if (emit != Emit::Library)
    return linkLine(paths);
  if (!runsHere(manifest))
    return notHere;
  if (!manifest.parameters.empty() && !manifest.weightsInside && !manifest.weightsFileBytes)
    return "run: with rapt-run's --weights=FILE, since no weights were packed";
  ExampleModel model{"", texts, manifest.maxPositions, 0};
  if (const auto &found = manifest.model) {
    model.task = found->task;
    model.vocabulary = found->sourceVocabulary ? found->sourceVocabulary : found->vocabulary;
  }
  const std::string arguments = exampleArguments(model);
  return "try: " + toolBeside(options.program, "rapt-run") + " " + libraryOf(paths) +
         (arguments.empty() ? "" : " " + arguments);
}

} // namespace

/// The files and what they took. `packed`: where weights were to be packed.
static std::string filesLine(const std::string &files, const Costs &costs, bool packed) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return "files: " + files + "; compiled in " + seconds(costs.compileSeconds) +
         (packed ? ", packed in " + seconds(costs.packSeconds) : "") + ", peak memory " +
         inUnits(uint64_t(usage.ru_maxrss) * 1024) + "\n";
}

std::string driver::kernelReport(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit,
                                 const Costs &costs, const Options &options) {
  const std::string limits = artifact::describeKernelDims(manifest), dims = artifact::exampleDims(manifest);
  const bool isLibrary = emit == Emit::Library;
  return modelLine(manifest) + "\n" + wholeTargetLine(manifest, options.verbose) + "\n" +
         filesLine(fileAndSize(paths.main) + ", " + fileAndSize(paths.header()), costs, false) +
         (limits.empty() ? "" : limits + "\n") +
         (isLibrary ? runsHere(manifest) ? "try: " + toolBeside(options.program, "rapt-bench") + " " +
                                               libraryOf(paths) + (dims.empty() ? "" : " --shape " + dims)
                                         : notHere
                    : linkLine(paths)) +
         "\n";
}

std::string driver::report(const artifact::Manifest &manifest, const OutputPaths &paths, Emit emit, const Costs &costs,
                           const Options &options, const ExampleTexts &texts) {
  std::string files = fileAndSize(paths.main) + ", " + fileAndSize(paths.header());
  if (manifest.weightsInside)
    files += ", weights inside";
  else if (manifest.weightsFileBytes)
    files += ", " + fileAndSize(paths.directory + "/" + manifest.weightsFile);
  return modelLine(manifest) + "\n" + wholeTargetLine(manifest, options.verbose) + "\n" +
         filesLine(files, costs, true) + limitsLine(manifest) + "\n" + tryLine(manifest, paths, emit, options, texts) +
         "\n";
}

std::string driver::quantizationReport(const std::vector<artifact::Parameter> &parameters,
                                       const std::vector<artifact::MatrixError> &errors, bool everyMatrix) {
  if (errors.empty()) {
    const std::string stored = artifact::quantizationOf(parameters);
    return stored.empty() ? "" : "quantized: " + stored + "\n";
  }
  auto share = [](const artifact::QuantizationError &error) {
    char text[32];
    snprintf(text, sizeof text, "%.2f %%", 100 * error.relative());
    return std::string(text);
  };
  std::string lines;
  artifact::QuantizationError all;
  const artifact::MatrixError *worst = &errors.front();
  for (const artifact::MatrixError &matrix : errors) {
    all.add(matrix.error);
    if (matrix.error.relative() > worst->error.relative())
      worst = &matrix;
    if (everyMatrix)
      lines += "raptc: quantized " + shownPath(matrix.tensor) + ": relative error " + share(matrix.error) + "\n";
  }
  return lines + "quantized: " + artifact::quantizationOf(parameters) + ": " + grouped(errors.size()) +
         (errors.size() == 1 ? " matrix" : " matrices") + ", relative error " + share(all) + ", at most " +
         share(worst->error) + " (" + shownPath(worst->tensor) + ")\n";
}

std::string driver::prediction(const artifact::Manifest &manifest, uint64_t fileBytes, bool verbose) {
  const std::string quantization = artifact::quantizationOf(manifest.parameters);
  std::string text = modelLine(manifest) + "\n" + wholeTargetLine(manifest, verbose) + "\n" +
                     (quantization.empty() ? "" : "quantized: " + quantization + "\n") +
                     "weights: " + inUnits(fileBytes) + " on disk, " + inUnits(manifest.weightsBytes) + " in memory\n" +
                     limitsLine(manifest) + "\n";
  if (manifest.cache && manifest.maxPositions)
    text += "memory: " + inUnits(costOf(manifest).ofSequence(manifest.maxPositions)) + " of cache for a sequence of " +
            grouped(manifest.maxPositions) + " positions\n";
  return text;
}
