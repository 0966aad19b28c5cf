// Manifests, from their text to steps of a context. The entries of the module check that they get what the manifest
// promises them.
#include "lib/Runtime/Module.h"
#include "rapt/rapt_profile.h"
#include "test/Fuzz/Fuzz.h"
#include <cstring>
#include <memory>

using rapt::BufferKind;
using namespace rapt::fuzz;
using namespace rapt::runtime;

namespace {

constexpr uint64_t mostTouched = uint64_t(1) << 20; ///< of a buffer or a table; what needs more does not run here
constexpr size_t mostMemory = size_t(64) << 20;     ///< of a context
const ManifestEntry *currentEntry = nullptr;

/// Bytes of an input or output for these dims; 0 where it would be too large to touch.
uint64_t touchedBytes(const ManifestBuffer &buffer, const int64_t *dims) {
  uint64_t bytes = buffer.dtype == "i64" || buffer.dtype == "f64" ? 8 : 4;
  for (const ManifestExtent &extent : buffer.shape)
    if (__builtin_mul_overflow(bytes, uint64_t(extentOf(extent, dims)), &bytes) || bytes > mostTouched)
      return 0;
  return bytes;
}

int32_t runEntry(const rapt_env *env, void *const *buffers, const int64_t *dims) {
  const ManifestEntry &entry = *currentEntry;
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    const ManifestBuffer &buffer = entry.buffers[i];
    if (buffer.kind == BufferKind::Input)
      readAll(buffers[i], touchedBytes(buffer, dims));
    else if (buffer.kind == BufferKind::Output && touchedBytes(buffer, dims))
      memset(buffers[i], 0, touchedBytes(buffer, dims));
    else if (buffer.kind == BufferKind::Workspace)
      memset(buffers[i], 1, 64);
  }
  auto nothing = [](void *, int64_t, int64_t, int64_t) {};
  int64_t dispatch = entry.dispatches.empty() ? 0 : int64_t(entry.dispatches.size()) - 1;
  return env->parallel_for(env->user, nothing, &dispatch, 2);
}
int64_t workspaceOf(const int64_t *, int64_t workers) { return 64 * workers; }

void *allocate(void *, size_t bytes, size_t alignment, int32_t) {
  void *memory = nullptr;
  return bytes <= mostMemory && !posix_memalign(&memory, alignment < 8 ? 8 : alignment, bytes) ? memory : nullptr;
}
void release(void *, void *memory, size_t, int32_t) { free(memory); }

/// A table as the manifest describes it; all entries are the one above.
std::vector<rapt_artifact_entry> entriesOf(const Manifest &m) {
  std::vector<rapt_artifact_entry> entries;
  for (size_t v = 0; v < m.variants.size(); ++v)
    for (const ManifestEntry &entry : m.entries)
      entries.push_back({entry.name.c_str(), runEntry, workspaceOf});
  return entries;
}

/// A weight file that fits the manifest; empty where it would be large.
std::string weightsOf(const Manifest &m) {
  if (!m.hasWeights || m.weightsBytes > mostTouched)
    return {};
  rapt_weights_header header{};
  header.magic = RAPT_WEIGHTS_MAGIC;
  header.version = 1;
  header.section_count = 1;
  memcpy(header.interface_id, m.interfaceId.bytes, 16);
  header.content_id[0] = uint8_t(~m.contentId.bytes[0]);
  strcpy(header.sections[0].name, "weights");
  header.sections[0].offset = RAPT_WEIGHTS_ALIGNMENT;
  header.sections[0].bytes = m.weightsBytes;
  header.file_bytes = RAPT_WEIGHTS_ALIGNMENT + m.weightsBytes;
  std::string file(header.file_bytes, '\0');
  memcpy(file.data(), &header, sizeof header);
  return file;
}

void profile(rapt_context *context) {
  size_t count = 0;
  if (rapt_profile_read(context, nullptr, &count, nullptr, 0) || count > 100000)
    return;
  std::vector<rapt_profile_row> rows(count);
  for (rapt_profile_row &row : rows)
    row.size = sizeof row;
  require(rapt_profile_read(context, rows.data(), &count, nullptr, 0) == RAPT_OK, "a profile is read");
}

void stepSome(rapt_context *context) {
  rapt_sequence sequences[2] = {};
  char message[512] = "";
  for (rapt_sequence &sequence : sequences)
    if (rapt_sequence_new(context, &sequence, message, sizeof message))
      return requireMessage(message);
  const int32_t tokens[] = {0, 0, 0, 0, 0};
  for (rapt_sequence sequence : sequences) {
    rapt_source source{sizeof source, sequence, tokens, 3, nullptr, 0};
    if (rapt_encode(context, &source, 1, message, sizeof message))
      requireMessage(message);
  }
  for (int32_t want : {RAPT_LOGITS_LAST, RAPT_LOGITS_ALL, RAPT_LOGITS_NONE}) {
    rapt_chunk chunks[] = {{sizeof(rapt_chunk), sequences[0], tokens, 5, want, nullptr, 0, nullptr},
                           {sizeof(rapt_chunk), sequences[1], tokens, 2, want, nullptr, 0, nullptr}};
    if (rapt_step(context, chunks, 2, message, sizeof message))
      requireMessage(message);
  }
}

void runTensors(rapt_context *context, const ManifestEntry &entry) {
  int64_t ids[6] = {}, shape[4] = {2, 3, 1, 1};
  std::vector<rapt_tensor> tensors;
  std::vector<const char *> names;
  for (const ManifestBuffer &buffer : entry.buffers)
    if (buffer.kind == BufferKind::Input && buffer.name != "row_begin" && tensors.size() < 8) {
      bool isFloat = buffer.dtype == "f32";
      tensors.push_back({sizeof(rapt_tensor), ids, RAPT_DEVICE_CPU, 0,
                         uint8_t(isFloat ? RAPT_DTYPE_FLOAT : RAPT_DTYPE_INT), uint8_t(isFloat ? 32 : 64), 1, 2, shape,
                         nullptr});
      names.push_back(buffer.name.c_str());
    }
  char message[512] = "";
  if (rapt_run(context, entry.name.c_str(), tensors.size(), names.data(), tensors.data(), message, sizeof message))
    requireMessage(message);
}

void runModule(rapt_module *module) {
  rapt_allocator allocator{sizeof allocator, nullptr, allocate, release};
  rapt_context_options options{};
  options.size = sizeof options;
  options.allocator = &allocator;
  options.max_step_tokens = options.cache_tokens = 0;
  rapt_memory memory{};
  memory.size = sizeof memory;
  char message[512] = "";
  if (rapt_context_memory(module, &options, &memory, message, sizeof message))
    requireMessage(message);
  rapt_context *context = nullptr;
  if (rapt_context_new(module, &options, &context, message, sizeof message))
    return requireMessage(message);
  rapt_profile_start(context, nullptr, 0);
  bool sequences = module->findEntry("step") >= 0 && module->findEntry("encode") < 0;
  if (sequences)
    currentEntry = &module->manifest->entries[size_t(module->findEntry("step"))], stepSome(context);
  for (const ManifestEntry &entry : module->manifest->entries)
    currentEntry = &entry, runTensors(context, entry);
  profile(context);
  rapt_context_free(context);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  char message[512] = "";
  Manifest *parsed = nullptr;
  if (parseManifest(text.c_str(), text.size(), "input", &parsed, Report(message, sizeof message))) {
    requireMessage(message);
    return 0;
  }
  std::unique_ptr<Manifest> manifest(parsed);
  std::vector<rapt_artifact_entry> entries = entriesOf(*manifest);
  ExactBytes weights(weightsOf(*manifest), 4096);
  rapt_artifact artifact{RAPT_ARTIFACT_MAGIC, RAPT_ABI_MAJOR, RAPT_ABI_MINOR, text.c_str(),
                         text.size(),         entries.data(), entries.size(), weights.size ? weights.data() : nullptr,
                         weights.size};
  rapt_module_options options{};
  options.size = sizeof options;
  options.flags = RAPT_ANY_CONTENT | (manifest->hasWeights && !weights.size ? RAPT_INSPECT : 0);
  if (weights.size)
    options.weights_data = weights.data(), options.weights_bytes = weights.size;
  rapt_module *module = nullptr;
  if (rapt_module_from_artifact(&artifact, &options, &module, message, sizeof message)) {
    requireMessage(message);
    return 0;
  }
  rapt_module_info info{};
  info.size = sizeof info;
  require(rapt_module_get_info(module, &info) == RAPT_OK, "a module has information");
  if (!(options.flags & RAPT_INSPECT))
    runModule(module);
  rapt_module_release(module);
  return 0;
}
