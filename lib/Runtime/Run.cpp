// rapt_run: named entries on tensors.
#include "lib/Runtime/EntryRun.h"
#include "lib/Runtime/Forward.h"
#include <cstring>

namespace rapt::runtime {
namespace {

bool keepsState(const ManifestEntry &entry) {
  for (const ManifestBuffer &buffer : entry.buffers)
    if (buffer.kind == BufferKind::Cache)
      return true;
  return false;
}

/// Calls `use` with the bound entry: the decoder's forward, which is its step, or one of the artifact's own.
template <typename Use>
rapt_status withEntry(rapt_context *context, const char *name, size_t count, const char *const *names,
                      const rapt_tensor *given, const Report &report, Use use) {
  if (!name)
    return report.fail(RAPT_INVALID, "the entry's name is NULL");
  if (count && (!names || !given))
    return report.fail(RAPT_INVALID, "the tensors or their names are NULL");
  Tensors tensors;
  if (rapt_status status = tensors.adopt(given, count, "rapt_tensor", report))
    return status;
  const rapt_module &module = *context->module;
  bool isDecoder = context->entry.code != nullptr;
  if (isDecoder && !strcmp(name, forwardEntry)) {
    Forward forward(*context, report);
    rapt_status status = forward.bind(count, names, tensors);
    return status ? status : use(forward);
  }
  int index = module.findEntry(name);
  if (index < 0 || keepsState(module.manifest->entries[index]))
    return report.fail(RAPT_UNSUPPORTED, "the model %s has no entry %s; it has %s", module.manifest->name.c_str(), name,
                       isDecoder || module.manifest->entries.empty() ? forwardEntry
                                                                     : module.manifest->entries[0].name.c_str());
  EntryRun run(*context, module.manifest->entries[index], module.entries[index], report);
  rapt_status status = run.bind(count, names, tensors);
  return status ? status : use(run);
}

} // namespace
} // namespace rapt::runtime

using namespace rapt::runtime;

extern "C" rapt_status rapt_run(rapt_context *context, const char *entry, size_t count, const char *const *names,
                                const rapt_tensor *tensors, char *message, size_t message_size) {
  Report report(message, message_size);
  return runCall(context, report, [&] {
    return withEntry(context, entry, count, names, tensors, report, [&](auto &bound) {
      ProfiledCall call(context->execution.profile);
      return bound.run();
    });
  });
}

extern "C" rapt_status rapt_run_shape(rapt_context *context, const char *entry, size_t count, const char *const *names,
                                      const rapt_tensor *tensors, const char *output, int64_t *shape, int32_t *rank,
                                      char *message, size_t message_size) {
  Report report(message, message_size);
  if (!output || !shape || !rank)
    return report.fail(RAPT_INVALID, "the output's name, shape or rank is NULL");
  Use use(context, report); // not by runCall: it runs nothing that could be canceled
  if (use.status)
    return use.status;
  return withEntry(context, entry, count, names, tensors, report,
                   [&](auto &bound) { return bound.shapeOf(output, shape, rank); });
}
