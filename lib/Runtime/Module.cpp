#include "lib/Runtime/Module.h"
#include "lib/Runtime/CallerStruct.h"
#include "lib/Runtime/Cpu.h"
#include "lib/Runtime/Entry.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <unistd.h>

using namespace rapt;
using namespace rapt::runtime;

rapt_module::~rapt_module() {
  device.reset();
  if (library)
    dlclose(library);
  free(manifestText);
}

int rapt_module::findEntry(const char *name) const {
  for (size_t i = 0; i < manifest->entries.size(); ++i)
    if (manifest->entries[i].name == name)
      return int(i);
  return -1;
}

namespace {

constexpr uint32_t allFlags = RAPT_READ_WEIGHTS | RAPT_POPULATE | RAPT_VERIFY | RAPT_ANY_CONTENT | RAPT_INSPECT;

/// The first version of rapt_module_options had no `variant`.
constexpr size_t firstOptionsBytes = offsetof(rapt_module_options, variant);

rapt_status checkOptions(const rapt_module_options &options, const Report &report) {
  if (options.flags & ~allFlags)
    return report.fail(RAPT_INVALID, "module option flags 0x%x are unknown", options.flags & ~allFlags);
  if (!!options.weights_path + !!options.weights_fd + !!options.weights_data > 1)
    return report.fail(RAPT_INVALID, "more than one of weights_path, weights_fd and weights_data is given");
  if (options.device < 0)
    return report.fail(RAPT_INVALID, "device is %d; the first is 0", options.device);
  return RAPT_OK;
}

/// The table's own claims, before anything it points at is believed.
rapt_status checkTable(const rapt_artifact &artifact, const char *file, const Report &report) {
  if (artifact.magic != RAPT_ARTIFACT_MAGIC)
    return report.fail(RAPT_BAD_FILE, "%s: its table starts with 0x%016llx: not a compiled model", file,
                       (unsigned long long)artifact.magic);
  if (artifact.abi_major != RAPT_ABI_MAJOR || artifact.abi_minor > RAPT_ABI_MINOR)
    return report.fail(RAPT_MISMATCH, "%s: made for runtime ABI %u.%u; this runtime has ABI %d.%d (Rapt %s)", file,
                       artifact.abi_major, artifact.abi_minor, RAPT_ABI_MAJOR, RAPT_ABI_MINOR, rapt_version());
  if (!artifact.manifest || !artifact.entries)
    return report.fail(RAPT_BAD_FILE, "%s: its table has no manifest or no entries", file);
  return RAPT_OK;
}

/// The code for GPUs that a variant's entries start; null for code of CPUs.
const rapt_device_code *deviceCode(const rapt_artifact &artifact, size_t variant) {
  if (artifact.abi_minor >= 5)
    return artifact.variant_code ? artifact.variant_code[variant] : nullptr;
  return artifact.abi_minor == 4 ? artifact.device_code : nullptr;
}

/// Whether the table has the code for GPUs that the manifest tells of, and no other.
rapt_status compareDeviceCode(const rapt_module &module, const char *file, const Report &report) {
  for (size_t variant = 0; variant < module.manifest->variants.size(); ++variant) {
    const auto &images = module.manifest->variants[variant].images;
    const rapt_device_code *code = deviceCode(*module.artifact, variant);
    bool isSame = code ? code->image_count == images.size() && code->images : images.empty();
    for (size_t i = 0; code && isSame && i < images.size(); ++i)
      isSame = code->images[i].arch && images[i].arch == code->images[i].arch &&
               code->images[i].form == uint32_t(images[i].isMachineCode);
    if (!isSame)
      return report.fail(RAPT_BAD_FILE, "%s: the code for GPUs in its manifest and in its table differ", file);
  }
  return RAPT_OK;
}

rapt_status checkEntries(const rapt_module &module, const char *file, const Report &report) {
  const auto &entries = module.manifest->entries;
  const size_t variants = module.manifest->variants.size();
  if (entries.size() * variants != module.artifact->entry_count)
    return report.fail(RAPT_BAD_FILE, "%s: its manifest has %zu entries in %zu variants, its table has %llu in all",
                       file, entries.size(), variants, (unsigned long long)module.artifact->entry_count);
  for (size_t i = 0; i < entries.size() * variants; ++i) {
    const rapt_artifact_entry &entry = module.artifact->entries[i];
    const std::string &name = entries[i % entries.size()].name;
    if (!entry.name || name != entry.name || !entry.run || !entry.workspace)
      return report.fail(RAPT_BAD_FILE, "%s: entry %zu is %s in its manifest and %s in its table", file, i,
                         name.c_str(), entry.name ? entry.name : "nothing");
  }
  return compareDeviceCode(module, file, report);
}

/// Parses module.manifestText and chooses what the processor runs of it.
rapt_status readManifest(rapt_module &module, const char *file, const rapt_module_options &options,
                         const Report &report) {
  Manifest *manifest = nullptr;
  if (rapt_status status = parseManifest(module.manifestText, module.manifestBytes, file, &manifest, report))
    return status;
  module.manifest.reset(manifest);
  if (options.device && !manifest->isForDevice())
    return report.fail(RAPT_INVALID, "%s: device is %d, but its code is for CPUs", file, options.device);
  if (options.flags & RAPT_INSPECT) {
    chooseVariant(*manifest, file, options.variant, nullptr, module.variant, Report(nullptr, 0));
    return RAPT_OK;
  }
  return chooseVariant(*manifest, file, options.variant, nullptr, module.variant, report);
}

rapt_status borrowInside(rapt_module &module, uint32_t flags, const Report &report) {
  const rapt_artifact &artifact = *module.artifact;
  const char *model = module.manifest->name.c_str();
  if (artifact.abi_minor < 1 || !artifact.weights)
    return report.fail(RAPT_BAD_FILE, "%s: its manifest says that weights are inside, its table has none", model);
  char name[320];
  snprintf(name, sizeof name, "the weights inside %.256s", model);
  return module.weights.borrow(artifact.weights, artifact.weights_size, *module.manifest, flags, name, report);
}

/// Weights of the application's choice, those inside the library, or the manifest's file beside `home`.
rapt_status openWeights(rapt_module &module, const rapt_module_options &options, const char *home,
                        const Report &report) {
  const Manifest &manifest = *module.manifest;
  if (!manifest.hasWeights)
    return RAPT_OK;
  if (options.weights_data)
    return module.weights.borrow(options.weights_data, options.weights_bytes, manifest, options.flags,
                                 "the weights in memory", report);
  const char *name = options.weights_path;
  if (manifest.weightsInside && !name && !options.weights_fd)
    return borrowInside(module, options.flags, report);
  File file;
  char path[PATH_MAX + 256];
  rapt_status status = RAPT_OK;
  if (options.weights_fd) {
    name = "the weights' descriptor";
    status = file.duplicate(*options.weights_fd, name, report);
  } else {
    if (!name) {
      const char *slash = strrchr(home, '/');
      snprintf(path, sizeof path, "%.*s%s", slash ? int(slash + 1 - home) : 0, home, manifest.weightsFile.c_str());
      name = path;
    }
    status = file.open(name, report);
  }
  return status ? status : module.weights.adopt(file, manifest, options.flags, name, report);
}

/// Opens the GPU, and chooses and loads the code that it runs.
rapt_status openDevice(rapt_module &module, const rapt_module_options &options, const char *file,
                       const Report &report) {
  if (rapt_status status = Device::open(options.device, module.device, report))
    return status;
  if (rapt_status status =
          chooseVariant(*module.manifest, file, options.variant, module.device.get(), module.variant, report))
    return status;
  return module.device->load(*deviceCode(*module.artifact, size_t(module.variant)), file, report);
}

/// Sets module.entries. A GPU's absence is told before weights are read.
rapt_status openData(rapt_module &module, const rapt_module_options &options, const char *file, const char *home,
                     const Report &report) {
  Manifest &manifest = *module.manifest;
  if (manifest.isForDevice())
    if (rapt_status status = openDevice(module, options, file, report))
      return status;
  ManifestVariant &variant = manifest.variants[size_t(module.variant)];
  for (size_t e = 0; e < variant.dispatches.size(); ++e)
    manifest.entries[e].dispatches = variant.dispatches[e];
  module.entries = module.artifact->entries + manifest.entries.size() * size_t(module.variant);
  rapt_status status = openWeights(module, options, home, report);
  if (status || !module.device || !manifest.hasWeights)
    return status;
  return module.device->upload(module.weights.data(), manifest.weightsBytes, report);
}

rapt_status loadLibrary(rapt_module &module, const char *path, const Report &report) {
  module.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!module.library) {
    const char *why = dlerror();
    return report.fail(RAPT_BAD_FILE, "%s: cannot be loaded: %s", path, why ? why : "no reason given");
  }
  char symbol[512];
  snprintf(symbol, sizeof symbol, "%s_module", module.manifest->name.c_str());
  module.artifact = static_cast<const rapt_artifact *>(dlsym(module.library, symbol));
  if (!module.artifact)
    return report.fail(
        RAPT_BAD_FILE,
        "%s: has no symbol %s: a library of kernels has none, and is linked by the program that calls them", path,
        symbol);
  if (rapt_status status = checkTable(*module.artifact, path, report))
    return status;
  if (module.artifact->manifest_size != module.manifestBytes ||
      memcmp(module.artifact->manifest, module.manifestText, module.manifestBytes))
    return report.fail(RAPT_BAD_FILE, "%s: the manifests in its table and in its section .rapt.manifest differ", path);
  return checkEntries(module, path, report);
}

rapt_status openFile(rapt_module &module, const char *path, const rapt_module_options &options, const Report &report) {
  char real[PATH_MAX]; // dlopen would search the library path for a plain name
  if (!realpath(path, real))
    return report.fail(RAPT_IO, "%s: cannot be opened: %s", path, strerror(errno));
  rapt_status status = readManifestSection(real, &module.manifestText, &module.manifestBytes, report);
  bool inspect = options.flags & RAPT_INSPECT;
  if (!status)
    status = readManifest(module, real, options, report);
  if (status || inspect)
    return status;
  status = loadLibrary(module, real, report);
  return status ? status : openData(module, options, real, real, report);
}

/// The real path of the library or program that holds `address`; empty when unknown.
void findHome(const void *address, char (&path)[PATH_MAX]) {
  Dl_info info;
  link_map *object = nullptr;
  path[0] = 0;
  if (!dladdr1(address, &info, reinterpret_cast<void **>(&object), RTLD_DL_LINKMAP) || !object)
    return;
  bool program = !object->l_name[0]; // its name would be argv[0], which need not be a path
  if (program || !realpath(object->l_name, path)) {
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
  }
}

rapt_status openTable(rapt_module &module, const rapt_artifact &artifact, const rapt_module_options &options,
                      const Report &report) {
  const char *name = "the linked model";
  if (rapt_status status = checkTable(artifact, name, report))
    return status;
  module.manifestBytes = artifact.manifest_size;
  module.manifestText = static_cast<char *>(malloc(module.manifestBytes + 1));
  if (!module.manifestText)
    return report.fail(RAPT_NOMEM, "%s: no memory for its manifest of %zu bytes", name, module.manifestBytes);
  memcpy(module.manifestText, artifact.manifest, module.manifestBytes);
  module.manifestText[module.manifestBytes] = 0;
  bool inspect = options.flags & RAPT_INSPECT;
  rapt_status status = readManifest(module, name, options, report);
  if (status || inspect)
    return status;
  module.artifact = &artifact;
  if ((status = checkEntries(module, name, report)))
    return status;
  char home[PATH_MAX];
  findHome(&artifact, home);
  return openData(module, options, name, home, report);
}

/// Makes a module and lets `fill` open it; gives it out only when that succeeds.
template <typename Fill>
rapt_status make(const void *source, const rapt_module_options *given, rapt_module **out, const Report &report,
                 Fill fill) {
  if (out)
    *out = nullptr;
  if (!source || !out)
    return report.fail(RAPT_INVALID, "the %s is NULL", source ? "pointer to the module" : "model");
  rapt_module_options options{};
  options.size = sizeof options;
  if (given) {
    if (rapt_status status = readStruct(given, firstOptionsBytes, "rapt_module_options", options, report))
      return status;
  }
  if (rapt_status status = checkOptions(options, report))
    return status;
  std::unique_ptr<rapt_module> module(new (std::nothrow) rapt_module);
  if (!module)
    return report.fail(RAPT_NOMEM, "no memory for a module");
  rapt_status status = fill(*module, options);
  if (!status)
    *out = module.release();
  return status;
}

const char *forC(const fact::Text &text) { return text.c_str(); }
int64_t forC(fact::Number number) { return number; }
int64_t forC(const fact::Id &id) { return id.value_or(-1); }

void fillFacts(const Manifest &m, rapt_module_info &info) {
#define RAPT_INFO_FACT(TYPE, MEMBER, KEY, MANIFEST, FIELD, DOC) info.FIELD = forC(m.MEMBER);
#define RAPT_INFO_LIST(TYPE, MEMBER, KEY, MANIFEST, FIELD, COUNT, DOC)                                                 \
  info.FIELD = m.lists.FIELD.data(), info.COUNT = m.lists.FIELD.size();
#include "lib/Support/ModelFacts.def"
}

} // namespace

extern "C" {

rapt_status rapt_module_open(const char *path, const rapt_module_options *options, rapt_module **module, char *message,
                             size_t message_size) {
  Report report(message, message_size);
  return make(path, options, module, report,
              [&](rapt_module &m, const rapt_module_options &o) { return openFile(m, path, o, report); });
}

rapt_status rapt_module_from_artifact(const rapt_artifact *artifact, const rapt_module_options *options,
                                      rapt_module **module, char *message, size_t message_size) {
  Report report(message, message_size);
  return make(artifact, options, module, report,
              [&](rapt_module &m, const rapt_module_options &o) { return openTable(m, *artifact, o, report); });
}

void rapt_module_retain(rapt_module *module) {
  if (module)
    module->references.fetch_add(1, std::memory_order_relaxed);
}

void rapt_module_release(rapt_module *module) {
  if (module && module->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete module;
}

const char *rapt_module_manifest(const rapt_module *module, size_t *bytes) {
  if (bytes)
    *bytes = module ? module->manifestBytes : 0;
  return module ? module->manifestText : nullptr;
}

const void *rapt_module_section(const rapt_module *module, const char *name, size_t *bytes) {
  size_t size = 0;
  const void *data = module && name ? module->weights.section(name, &size) : nullptr;
  if (bytes)
    *bytes = size;
  return data;
}

rapt_status rapt_module_get_info(const rapt_module *module, rapt_module_info *info) {
  size_t size;
  if (!module || !info || readStructSize(info, sizeof size, "rapt_module_info", size, Report(nullptr, 0)))
    return RAPT_INVALID;
  const Manifest &m = *module->manifest;
  rapt_module_info all{};
  all.name = m.name.c_str();
  fillFacts(m, all);
  all.max_tokens = m.maxTokens;
  all.max_rows = m.maxRows;
  all.max_positions = m.maxPositions;
  all.cache_dtype = m.caches[0].dtype.c_str();
  all.cache_block = m.cacheBlock;
  for (const ManifestCache &cache : m.caches) {
    (cache.window ? all.window_block_bytes : all.cache_block_bytes) += cache.blockBytes;
    (cache.window ? all.window_bytes_per_token : all.cache_bytes_per_token) += cache.bytesPerToken;
    all.cache_window = std::max(all.cache_window, cache.window);
  }
  if (const int step = module->findEntry(rapt::stepEntry); step >= 0)
    for (int64_t bytes : slotBytesOf(m.entries[size_t(step)]))
      all.state_bytes += bytes;
  all.weights_file = m.hasWeights && !m.weightsInside ? m.weightsFile.c_str() : nullptr;
  all.weights_file_bytes = int64_t(m.weightsFileBytes);
  all.target_arch = m.arch.c_str();
  all.target_cpu = module->variant < 0 ? "" : m.variants[module->variant].cpu.c_str();
  all.target_gpus = m.gpus.c_str();
  all.target_gpu = module->device ? module->device->codeArchitecture() : "";
  all.size = size;
  memcpy(info, &all, size < sizeof all ? size : sizeof all);
  return RAPT_OK;
}
}
