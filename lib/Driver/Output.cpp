//===- Output.cpp - Where results go ---------------------------------------------------------===//
#include "lib/Driver/Output.h"
#include "lib/Artifact/StagedFile.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Support/File.h"
#include "lib/Support/Progress.h"
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::driver;

static constexpr const char *names[] = {"imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect",
                                        "llvm-ir",  "asm",       "ptx",      "obj",   "a",       "so"};

const char *driver::nameOf(Emit emit) { return names[static_cast<int>(emit)]; }

std::optional<Emit> driver::emitNamed(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Emit::Library); ++i)
    if (name == names[i])
      return static_cast<Emit>(i);
  return std::nullopt;
}

std::string driver::stemOf(const std::string &path) {
  std::string_view name = path;
  while (name.size() > 1 && name.ends_with('/'))
    name.remove_suffix(1);
  name = name.substr(name.rfind('/') + 1);
  size_t dot = name.rfind('.');
  return std::string(dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot));
}

OutputPaths OutputPaths::choose(const Options &options, Emit emit, const std::string &name) {
  OutputPaths paths;
  // As for other compilers, - is the standard output where that can be: of text.
  if (options.output != "-" || emit >= Emit::Object)
    paths.main = options.output;
  if (paths.main.empty() && emit >= Emit::Object)
    paths.main = "./" + name + (emit == Emit::Library ? ".so" : emit == Emit::Archive ? ".a" : ".o");
  paths.isDiscarded = isNullDevice(paths.main);
  const bool isNamed = !paths.main.empty() && !paths.isDiscarded;
  paths.directory = isNamed ? artifact::directoryOf(paths.main) : ".";
  paths.base = isNamed ? stemOf(paths.main) : name;
  return paths;
}

static std::vector<std::string> intermediateFolders(const Options &options, const OutputPaths &paths) {
  std::vector<std::string> folders;
  if (!options.dumpDirectory.empty())
    folders.push_back(options.dumpDirectory);
  if (options.saveTemps)
    folders.push_back(paths.directory);
  return folders;
}

Status OutputPaths::check() const {
  if (main.empty() || isDiscarded)
    return {};
  RAPT_RETURN_IF_ERROR(artifact::StagedFile::create(main));
  return {};
}

static bool isGGUF(std::string_view path) { return path.ends_with(".gguf"); }

/// A file, or the files of a model that a directory or the folder of a lone configuration holds.
static void addInput(CommandFiles &files, const std::string &path, const char *role) {
  struct stat status;
  const bool isFolder = stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (!isFolder)
    files.addInput(path, role);
  for (const std::string &file : huggingface::listModelFiles(isFolder ? path : artifact::directoryOf(path)))
    if (isFolder || stemOf(path) == "config" || (isGGUF(path) && isGGUF(file))) // a part of the same model, perhaps
      files.addInput(file, "a file of the model");
}

CommandFiles OutputPaths::list(const Options &options, Emit emit, const std::vector<std::string> &labels) const {
  CommandFiles files;
  if (options.input == kStandardInput)
    files.addStandardInput();
  else
    addInput(files, options.input, "the input");
  if (!options.weights.empty())
    addInput(files, options.weights, "--weights");
  if (!options.mmproj.empty())
    addInput(files, options.mmproj, "--mmproj");
  for (const std::string &plugin : options.passPlugins)
    files.addInput(plugin, "--load-pass-plugin");
  for (const std::string &plugin : options.dialectPlugins)
    files.addInput(plugin, "--load-dialect-plugin");
  if (!main.empty())
    files.addOutput(main, "the output");
  if (emit >= Emit::Object && !isDiscarded)
    files.addOutput(header(), "the header of " + shownPath(main));
  if (!options.saveWeights.empty())
    files.addOutput(options.saveWeights, "--save-weights");
  for (const std::string &folder : intermediateFolders(options, *this))
    for (const std::string &label : labels) {
      for (int stage = 0; stage <= std::min(int(emit), int(Emit::LLVMDialect)); ++stage)
        files.addOutput(folder + "/" + base + "." + label + names[stage] + ".mlir", "an intermediate result");
      for (const char *suffix : {"ll", "s"})
        if (emit >= Emit::Object)
          files.addOutput(folder + "/" + base + "." + label + suffix, "an intermediate result");
    }
  return files;
}

Expected<std::unique_ptr<artifact::StagedFile>> driver::stageCode(const OutputPaths &paths, Emit emit,
                                                                  std::string_view code) {
  return artifact::StagedFile::createWith(paths.main, code, emit == Emit::Library ? 0777 : 0666);
}

Status driver::writeText(const std::string &path, std::string_view text) {
  if (isNullDevice(path))
    return {};
  if (path.empty()) {
    ProgressPause pause; // the terminal may be the same
    return writeStandardOutput(text);
  }
  RAPT_ASSIGN_OR_RETURN(auto file, artifact::StagedFile::createWith(path, text));
  return file->commit();
}

Status driver::writeIntermediate(const Options &options, const OutputPaths &paths, const std::string &suffix,
                                 std::string_view text) {
  if (!options.dumpDirectory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dumpDirectory, error);
    if (error)
      return Error{shownPath(options.dumpDirectory) + ": " + error.message()};
  }
  for (const std::string &folder : intermediateFolders(options, paths))
    RAPT_RETURN_IF_ERROR(writeText(folder + "/" + paths.base + "." + suffix, text));
  return {};
}

void driver::discardOnInterrupt() {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = [](int received) {
      TemporaryFile::discardAll();
      Progress::eraseForSignal();
      signal(received, SIG_DFL);
      raise(received);
    };
    sigaction(number, &action, nullptr);
  }
  // Errors of writing are told as such.
  signal(SIGXFSZ, SIG_IGN);
}
