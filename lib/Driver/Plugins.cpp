//===- Plugins.cpp - Passes and dialects from shared libraries --------------------===//
#include "lib/Driver/Plugins.h"
#include "lib/Support/File.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FileSystem.h"
#include <dlfcn.h>

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

/// As tools/cmake/RaptPluginBuild.c.in writes it into a plugin.
static constexpr StringRef thisBuild = "Rapt " RAPT_VERSION " with LLVM " LLVM_VERSION_STRING;

static constexpr const char *passEntry = "mlirGetPassPluginInfo", *dialectEntry = "mlirGetDialectPluginInfo";

/// The message of dlerror() without the path, a symbol as C++ has it.
static std::string reasonOf(StringRef error, StringRef path) {
  error.consume_front(path);
  error.consume_front(": ");
  if (error.consume_front("undefined symbol: "))
    return "it needs '" + llvm::demangle(error.split(' ').first) + "', which this program does not have";
  return error.str();
}

/// The entry point `name` of the library at `path`.
static Expected<void *> findEntry(const std::string &path, const char *name) {
  auto fail = [&](const std::string &what) { return Error{shownPath(path) + ": " + what}; };
  llvm::SmallString<128> absolute = StringRef(path); // a bare name would be searched for among the system's libraries
  if (std::error_code error = llvm::sys::fs::make_absolute(absolute))
    return fail(error.message());
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(absolute, status))
    return fail(error.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return fail("is no file");
  void *library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL); // stays for good: MLIR keeps pointers into it
  if (!library)
    return fail("cannot be loaded as a plugin: " + reasonOf(dlerror(), absolute));
  void *entry = dlsym(library, name);
  if (!entry && dlsym(library, passEntry))
    return fail("is a pass plugin, for --load-pass-plugin; it has no dialects (mlirGetDialectPluginInfo)");
  if (!entry && dlsym(library, dialectEntry))
    return fail("is a dialect plugin, for --load-dialect-plugin; it has no passes (mlirGetPassPluginInfo)");
  if (!entry)
    return fail(std::string("is no plugin: it does not define ") + name);
  const auto *build = static_cast<const char *>(dlsym(library, "raptPluginBuild"));
  if (!build)
    return fail("does not say for which Rapt it was built (raptPluginBuild); build it with rapt_add_plugin()");
  if (build != thisBuild)
    return fail("was built for " + std::string(build) + "; this program is " + thisBuild.str() +
                ": build it with the headers of this one");
  return entry;
}

/// The answer of the entry point `name`.
template <typename Info> static Expected<Info> load(const std::string &path, const char *name) {
  RAPT_ASSIGN_OR_RETURN(void *entry, findEntry(path, name));
  const Info info = reinterpret_cast<Info (*)()>(entry)();
  if (info.apiVersion != MLIR_PLUGIN_API_VERSION)
    return Error{shownPath(path) + ": has version " + std::to_string(info.apiVersion) +
                 " of MLIR's interface of plugins; expected " + std::to_string(MLIR_PLUGIN_API_VERSION)};
  return info;
}

Status Plugins::loadPasses(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(auto info, load<PassPluginLibraryInfo>(path, passEntry));
  if (info.registerPassRegistryCallbacks)
    info.registerPassRegistryCallbacks();
  return {};
}

Status Plugins::loadDialects(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(auto info, load<DialectPluginLibraryInfo>(path, dialectEntry));
  if (auto *add = info.registerDialectRegistryCallbacks)
    dialects.push_back([add](DialectRegistry &registry) { add(&registry); });
  return {};
}

void Plugins::registerDialects(DialectRegistry &registry) const {
  for (const auto &add : dialects)
    add(registry);
}

Status Plugins::loadFromArguments(int &argc, char **argv) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    auto [name, value] = StringRef(argv[i]).split('=');
    const bool isOption = name.consume_front("-");
    name.consume_front("-");
    const bool isPasses = name == "load-pass-plugin", isDialects = name == "load-dialect-plugin";
    if (!isOption || (!isPasses && !isDialects)) {
      argv[kept++] = argv[i];
      continue;
    }
    const bool hasValue = StringRef(argv[i]).contains('=');
    if (!hasValue && i + 1 == argc)
      return Error{"--" + name.str() + " needs a value: a shared library"};
    const std::string path = hasValue ? value.str() : argv[++i];
    RAPT_RETURN_IF_ERROR(isPasses ? loadPasses(path) : loadDialects(path));
  }
  argv[argc = kept] = nullptr;
  return {};
}
