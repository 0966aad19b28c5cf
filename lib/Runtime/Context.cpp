#include "lib/Runtime/Context.h"
#include "lib/Support/CacheCost.h"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <numeric>

using namespace rapt::runtime;

namespace {

constexpr int64_t defaultWanted = 64;
constexpr int64_t most = int64_t(1) << 40;

/// The caller's options and the hooks that they point at.
struct Options : rapt_context_options {
  rapt_allocator ownAllocator{};

  rapt_status read(const rapt_context_options *given, const Report &report);
};

rapt_status check(const rapt_context_options &o, const Report &report) {
  for (int64_t value : {o.cache_tokens, o.max_step_tokens, o.max_step_rows, o.window_slack, o.keep_states_every})
    if (value < 0 || value > most)
      return report.fail(RAPT_INVALID, "a context option is %lld, not 0 to %lld", (long long)value, (long long)most);
  if (o.allocator && (!o.allocator->alloc || !o.allocator->free))
    return report.fail(RAPT_INVALID, "the allocator's alloc or free is NULL");
  return RAPT_OK;
}

rapt_status Options::read(const rapt_context_options *given, const Report &report) {
  rapt_context_options &own = *this;
  own = {};
  own.size = sizeof own;
  if (!given)
    return RAPT_OK;
  constexpr size_t least = offsetof(rapt_context_options, window_slack);
  if (rapt_status status = readStruct(given, least, "rapt_context_options", own, report))
    return status;
  if (allocator) {
    if (rapt_status status = readStruct(allocator, sizeof(rapt_allocator), "rapt_allocator", ownAllocator, report))
      return status;
    allocator = &ownAllocator;
  }
  return check(own, report);
}

rapt_status chooseLimits(const Manifest &m, const rapt_context_options &o, const Entry &entry, bool hasSource,
                         Limits &l, const Report &report) {
  const bool keepsTokens = entry.has(Role::BlockTable); // without it a sequence has states, and its source's positions
  l.slotBytes = entry.slotBytes;
  l.keepEvery = l.stateBytes() ? o.keep_states_every : 0;
  l.block = m.hasCache ? m.cacheBlock : 1;
  l.slack = o.window_slack;
  l.positions = m.maxPositions;
  l.vocabulary = m.vocabulary;
  l.longestSource = m.longestSource(m.maxPositions);
  l.sourceVocabulary = m.sourceVocabulary ? m.sourceVocabulary : m.vocabulary;
  // A sequence with a source holds positions of both.
  const int64_t ofTokens = keepsTokens ? ceilDivide(m.maxPositions, l.block) : 0,
                ofSource = hasSource ? ceilDivide(l.longestSource, l.block) : 0;
  l.blocks = o.cache_tokens ? ceilDivide(o.cache_tokens, l.block) : ofTokens + ofSource;
  if (!m.hasCache)
    l.blocks = 0;
  if (l.blocks > INT32_MAX)
    return report.fail(RAPT_INVALID, "a cache of %lld tokens has more than %d blocks of %lld",
                       (long long)o.cache_tokens, INT32_MAX, (long long)l.block);
  auto tableOf = [&](int64_t positions) {
    return std::max<int64_t>(std::min(ceilDivide(positions, l.block), l.blocks), 1);
  };
  const int64_t window = m.caches[0].window; // of every layer: a sequence may outgrow the cache
  l.table = window ? ceilDivide(l.positions, l.block) : tableOf(l.positions);
  l.sourceTable = tableOf(l.longestSource);
  int64_t cacheTokens = keepsTokens ? l.blocks * l.block : m.maxTokens;
  l.tokens = std::min({o.max_step_tokens ? o.max_step_tokens : rapt::defaultStepTokens, m.maxTokens, cacheTokens});
  // Beside the keys of a window the cache holds the part that reads them, where it is not too small for that.
  const int64_t beside = (l.blocks - 1) * l.block - (window - 1 + l.slack);
  if (window && l.positions > l.blocks * l.block && beside > 0)
    l.tokens = std::min(l.tokens, beside);
  if (o.max_step_tokens > m.maxTokens)
    return report.fail(RAPT_INVALID, "max_step_tokens is %lld; the model is compiled for at most %lld",
                       (long long)o.max_step_tokens, (long long)m.maxTokens);
  if (o.max_step_rows > m.maxRows)
    return report.fail(RAPT_INVALID, "max_step_rows is %lld; the model is compiled for at most %lld",
                       (long long)o.max_step_rows, (long long)m.maxRows);
  l.rows =
      std::min(o.max_step_rows ? o.max_step_rows : std::min(m.maxRows, keepsTokens ? l.blocks : m.maxRows), l.tokens);
  l.wanted = std::min(defaultWanted, l.tokens);
  return RAPT_OK;
}

/// The initial number of slots for states: zeros, and what one sequence has before and behind a step. They may be
/// large, and how many sequences there will be is not known.
constexpr int64_t firstSlots = 3;

/// The dims of the largest part of a step or of sources.
DimValues largestDims(const Entry &entry, const Limits &l) {
  DimValues dims;
  dims[Dim::Tokens] = dims[Dim::Wanted] = dims[Dim::Embeddings] = dims[Dim::Adapted] =
      entry.isSerial ? l.rows : l.tokens;
  dims[Dim::Rows] = l.rows;
  if (entry.features) // of which as many run together as have the tokens of a part, one at least
    dims[Dim::Rows] = std::clamp<int64_t>(l.tokens / l.longestSource, 1, l.rows);
  dims[Dim::Table] = l.table;
  dims[Dim::SourceBlocks] = l.sourceTable;
  dims[Dim::Blocks] = dims[Dim::WindowBlocks] = l.blocks;
  dims[Dim::Slots] = firstSlots;
  return dims;
}

/// Blocks that a cache has at first: those of layers with a window are enough for one sequence.
int64_t firstBlocks(const ManifestCache &cache, const Limits &l) {
  return cache.window ? std::min(l.blocks, l.blocksOfWindow(cache.window)) : l.blocks;
}

/// Everything of a context that can be known without memory.
struct Plan {
  Entry entry, encode, best, top;
  Limits limits{};
  rapt_memory memory{};
  uint64_t held[roleCount]{}; ///< bytes of arguments

  /// Counts the arguments of an entry, if the model has it, but for what only some calls need.
  void addArguments(const Entry &entry, const DimValues &dims) {
    int64_t ordered[mostEntryDims];
    entry.order(dims, ordered);
    for (int i = 0; i < entry.buffers; ++i)
      if (const Role role = entry.roles[i]; isArgument(role) && !isMap(role))
        held[int(role)] = std::max(held[int(role)], bytesOf(entry.manifest->buffers[size_t(i)], ordered));
  }

  /// A model that keeps no sequences takes memory when an entry runs, by its tensors' sizes.
  rapt_status makeStateless(const rapt_module &module, const rapt_context_options &options, const Report &report) {
    const Manifest &m = *module.manifest;
    if (!module.artifact)
      return report.fail(RAPT_INVALID, "the module %s was only inspected, so it cannot run", m.name.c_str());
    if (options.cache_tokens)
      return report.fail(RAPT_INVALID, "cache_tokens is %lld, but the model %s has no cache",
                         (long long)options.cache_tokens, m.name.c_str());
    limits.tokens = options.max_step_tokens ? options.max_step_tokens : rapt::defaultStepTokens;
    limits.rows = options.max_step_rows;
    memory.weights = m.weightsFileBytes;
    memory.other = sizeof(rapt_context);
    return RAPT_OK;
  }

  rapt_status make(const rapt_module &module, const rapt_context_options &options, int64_t workers,
                   const Report &report) {
    if (module.findEntry(rapt::stepEntry) < 0)
      return makeStateless(module, options, report);
    rapt_status status = entry.bindStep(module, report);
    bool hasSource = module.findEntry(rapt::encodeEntry) >= 0;
    if (!status && hasSource)
      status = encode.bindEncode(module, report);
    if (!status)
      status = best.bindTop(module, "best_token", report);
    if (!status)
      status = top.bindTop(module, "top_tokens", report);
    if (!status)
      status = chooseLimits(*module.manifest, options, entry, hasSource, limits, report);
    if (!status && hasSource && entry.slotBytes != encode.slotBytes)
      status =
          report.fail(RAPT_UNSUPPORTED, "the entries of %s disagree about the state", module.manifest->name.c_str());
    if (status)
      return status;
    auto workspace = [&](int64_t workers) {
      const int64_t own = entry.workspace(largestDims(entry, limits), workers);
      return hasSource ? std::max(own, encode.workspace(largestDims(encode, limits), workers)) : own;
    };
    int64_t alone = workspace(workers), another = workspace(workers + 1);
    if (alone < 0 || another < alone)
      return report.fail(RAPT_BUG, "the model %s asks for %lld bytes of workspace", module.manifest->name.c_str(),
                         (long long)alone);
    uint64_t logitsBytes, most;
    for (const ManifestCache &cache : module.manifest->caches) {
      if (!multiply(uint64_t(limits.blocks), uint64_t(cache.blockBytes), most) ||
          __builtin_add_overflow(memory.most_cache, most, &memory.most_cache))
        return report.fail(RAPT_INVALID, "a cache of %lld blocks of %lld bytes is larger than any memory",
                           (long long)limits.blocks, (long long)cache.blockBytes);
      memory.cache += uint64_t(firstBlocks(cache, limits)) * uint64_t(cache.blockBytes);
    }
    if (!multiply(uint64_t(limits.vocabulary), sizeof(float), logitsBytes))
      return report.fail(RAPT_INVALID, "logits of a vocabulary of %lld are larger than any memory",
                         (long long)limits.vocabulary);
    memory.weights = module.manifest->weightsFileBytes;
    memory.workspace = uint64_t(alone);
    memory.per_worker = uint64_t(another - alone);
    DimValues dims = largestDims(entry, limits);
    addArguments(entry, dims);
    dims[Dim::Wanted] = limits.wanted;
    addArguments(best, dims);
    addArguments(top, dims);
    memory.other = sizeof(rapt_context) + logitsBytes + uint64_t(limits.rows) * sizeof(Piece) +
                   std::accumulate(std::begin(held), std::end(held), uint64_t(0));
    for (int k = 0; k < module.manifest->cacheCount; ++k)
      memory.other += 9 * uint64_t(firstBlocks(module.manifest->caches[k], limits));
    if (limits.stateBytes())
      memory.other += uint64_t(firstSlots) * uint64_t(limits.stateBytes() + 9);
    return RAPT_OK;
  }
};

bool allocateCaches(rapt_context &c) {
  const Manifest &m = *c.module->manifest;
  for (; c.cacheCount < m.cacheCount; ++c.cacheCount) {
    const ManifestCache &from = m.caches[c.cacheCount];
    LayerCache &cache = c.caches[c.cacheCount];
    cache.window = from.window;
    cache.blockBytes = from.blockBytes;
    cache.most = c.limits.blocks;
    if (!cache.blocks.allocate(c.memory, c.stream.get(), firstBlocks(from, c.limits), {from.blockBytes}, "the cache"))
      return false;
  }
  return true;
}

rapt_status allocateAll(rapt_context &c, const Plan &plan, const Report &report) {
  const Limits &l = c.limits;
  if (!c.entry.code)
    return RAPT_OK;
  bool enough = allocateCaches(c) && c.logits.allocate(c.memory, l.vocabulary) && c.pieces.allocate(c.memory, l.rows) &&
                c.workspace.allocate(c.memory, c.stream.get(), plan.memory.workspace, "the workspace");
  for (int i = 0; i < roleCount; ++i)
    enough = enough && (!plan.held[i] || c.held[i].allocate(c.memory, plan.held[i]));
  if (enough && c.hasStates()) {
    enough = c.states.allocate(c.memory, c.stream.get(), firstSlots, l.slotBytes, "the states");
    if (enough)
      c.states.allocate(); // slot 0
  }
  rapt_status status = RAPT_OK;
  if (!enough)
    status = report.fail(RAPT_NOMEM, "no memory for a context: %llu bytes of cache for %lld tokens, %llu of workspace",
                         (unsigned long long)plan.memory.cache, (long long)(l.blocks * l.block),
                         (unsigned long long)plan.memory.workspace);
  return c.execution.cause(status, report);
}

/// The stream of a context of code for GPUs.
rapt_status openStream(rapt_context &c, const Report &report) {
  if (!c.module->device)
    return RAPT_OK;
  if (rapt_status status = DeviceStream::make(*c.module->device, c.stream, report))
    return status;
  c.arguments.reset(new (std::nothrow) DeviceArguments(*c.stream, c.memory));
  c.choice.reset(new (std::nothrow) DeviceArguments(*c.stream, c.memory));
  c.graphs.reset(new (std::nothrow) DeviceGraphs(*c.stream, c.log, c.user));
  c.times.reset(new (std::nothrow) DeviceTimes(*c.stream, c.memory));
  if (!c.arguments || !c.choice || !c.graphs || !c.times || !c.graphs->reserve(c.module->manifest->entries, c.memory))
    return report.fail(RAPT_NOMEM, "no memory for a context");
  constexpr uint32_t firstMinorOfFlags = 8;
  c.execution.useDevice(*c.stream, *c.arguments, *c.graphs, *c.times,
                        c.module->artifact->abi_minor >= firstMinorOfFlags);
  return RAPT_OK;
}

void logPlan(const rapt_context &c, const Plan &plan) {
  if (!c.log || !c.entry.code)
    return;
  char line[256];
  snprintf(line, sizeof line, "cache: %lld tokens in %lld blocks, %llu bytes; workspace: %llu bytes for %lld workers",
           (long long)(c.limits.blocks * c.limits.block), (long long)c.limits.blocks,
           (unsigned long long)plan.memory.cache, (unsigned long long)plan.memory.workspace,
           (long long)c.execution.workers());
  if (c.stream)
    snprintf(line, sizeof line, "cache: %lld tokens in %lld blocks, %llu bytes; workspace: %llu bytes; on the GPU",
             (long long)(c.limits.blocks * c.limits.block), (long long)c.limits.blocks,
             (unsigned long long)plan.memory.cache, (unsigned long long)plan.memory.workspace);
  c.log(c.user, line);
}

} // namespace

Use::Use(const rapt_context *context, const Report &report) : context(context) {
  if (!context)
    status = report.fail(RAPT_INVALID, "the context is NULL");
  else if (context->owner != getpid())
    status = report.fail(RAPT_FORKED, "the context was made in process %d, this is %d: it can only be freed here",
                         int(context->owner), int(getpid()));
  else if (context->busy.exchange(true, std::memory_order_acquire))
    status = report.fail(RAPT_BUSY, "another thread is using the context");
  else
    held = true;
}

rapt_context::~rapt_context() {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].tables[0].blocks)
      memory.release(slots[i].tables[0].blocks, tableBytes());
}

const void *rapt_context::weights() const {
  if (module->device)
    return reinterpret_cast<const void *>(module->device->weights());
  return module->weights.present() ? module->weights.data() : nullptr;
}

void rapt_context::copyMaps(const Entry &entry, size_t chunk, int64_t at, int64_t from, int64_t count) {
  for (int i = 0; i < entry.maps; ++i) {
    const AttentionMap &map = entry.map[i];
    if (Array<float *> &targets = mapTargets[int(map.role)]; targets.size())
      memcpy(targets[chunk] + at * map.columns, numbers(map.role) + from * map.columns,
             size_t(count * map.columns) * sizeof(float));
  }
}

rapt_status rapt_context::reserveWorkspace(int64_t need, const Report &report) {
  if (need >= 0 &&
      (uint64_t(need) <= workspace.size() || workspace.allocate(memory, stream.get(), uint64_t(need), "the workspace")))
    return RAPT_OK;
  return report.fail(RAPT_NOMEM, "no memory for %lld bytes of workspace", (long long)need);
}

extern "C" {

rapt_status rapt_context_memory(const rapt_module *module, const rapt_context_options *given, rapt_memory *memory,
                                char *message, size_t message_size) {
  Report report(message, message_size);
  if (!module || !memory)
    return report.fail(RAPT_INVALID, "the %s is NULL", module ? "pointer to the sizes" : "module");
  size_t size;
  if (rapt_status status = readStructSize(memory, offsetof(rapt_memory, most_cache), "rapt_memory", size, report))
    return status;
  Options options;
  Execution execution;
  Plan plan;
  rapt_status status = options.read(given, report);
  if (!status)
    status = execution.choose(options.pool, options.executor, module->device != nullptr, report);
  if (!status)
    status = plan.make(*module, options, execution.workers(), report);
  if (status)
    return status;
  plan.memory.size = size;
  memcpy(memory, &plan.memory, std::min(size, sizeof plan.memory));
  return RAPT_OK;
}

rapt_status rapt_context_new(rapt_module *module, const rapt_context_options *given, rapt_context **context,
                             char *message, size_t message_size) {
  Report report(message, message_size);
  if (context)
    *context = nullptr;
  if (!module || !context)
    return report.fail(RAPT_INVALID, "the %s is NULL", module ? "pointer to the context" : "module");
  Options options;
  if (rapt_status status = options.read(given, report))
    return status;
  Allocator memory = options.allocator ? Allocator(*options.allocator) : Allocator();
  void *place = memory.allocate(sizeof(rapt_context));
  if (!place)
    return report.fail(RAPT_NOMEM, "no memory for a context");
  auto *made = new (place) rapt_context;
  made->memory = memory;
  rapt_module_retain(module);
  made->module = module;
  Plan plan;
  rapt_status status = made->execution.choose(options.pool, options.executor, module->device != nullptr, report);
  if (!status)
    status = plan.make(*module, options, made->execution.workers(), report);
  const Manifest &manifest = *module->manifest;
  made->execution.narrow = manifest.activations == "f16" ? "activations"
                           : std::any_of(manifest.caches, manifest.caches + manifest.cacheCount,
                                         [](const ManifestCache &cache) { return cache.dtype == "f16"; })
                               ? "cached keys and values"
                               : nullptr;
  made->entry = plan.entry;
  made->encode = plan.encode;
  made->best = plan.best;
  made->top = plan.top;
  made->limits = plan.limits;
  if (!status)
    status = findAdapter(*module->manifest, options.adapter, made->adapter, report);
  made->log = options.log;
  made->progress = options.progress;
  made->user = options.user;
  if (!status)
    status = openStream(*made, report);
  if (!status)
    status = allocateAll(*made, plan, report);
  if (status) {
    rapt_context_free(made);
    return status;
  }
  logPlan(*made, plan);
  *context = made;
  return RAPT_OK;
}

void rapt_context_free(rapt_context *context) {
  if (!context)
    return;
  Allocator memory = context->memory;
  rapt_module *module = context->module;
  context->~rapt_context();
  rapt_module_release(module); // the context's memory may be that of the module's GPU
  memory.release(context, sizeof(rapt_context));
}

int64_t rapt_context_capacity(const rapt_context *context) {
  return context ? context->limits.blocks * context->limits.block : 0;
}

int64_t rapt_context_available(const rapt_context *context) {
  Use use(context, Report(nullptr, 0));
  return use.status ? -1 : context->caches[0].available() * context->limits.block;
}

void rapt_cancel(rapt_context *context) {
  if (context)
    context->execution.cancel();
}
}
