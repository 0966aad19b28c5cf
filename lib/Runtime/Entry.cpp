#include "lib/Runtime/Context.h"

namespace rapt::runtime {
namespace {

struct RoleName {
  const char *name;
  BufferKind kind;
  const char *dtype;
};

// In the order of Role and Dim.
constexpr RoleName roleNames[roleCount] = {
    {"weights", BufferKind::Weights, ""},      {"workspace", BufferKind::Workspace, ""},
    {"cache", BufferKind::Cache, ""},          {"tokens", BufferKind::Input, "i32"},
    {"row_begin", BufferKind::Input, "i32"},   {"past", BufferKind::Input, "i32"},
    {"block_table", BufferKind::Input, "i32"}, {"want", BufferKind::Input, "i32"},
    {"logits", BufferKind::Output, "f32"}};
constexpr const char *dimNames[dimCount] = {"tokens", "rows", "wanted", "table", "blocks"};

int findRole(const ManifestBuffer &buffer) {
  for (int i = 0; i < roleCount; ++i)
    if (buffer.name == roleNames[i].name && buffer.kind == roleNames[i].kind && buffer.dtype == roleNames[i].dtype)
      return i;
  return -1;
}

int findDim(const std::string &name) {
  for (int i = 0; i < dimCount; ++i)
    if (name == dimNames[i])
      return i;
  return -1;
}

} // namespace

rapt_status Entry::bindStep(const rapt_module &module, const Report &report) {
  const Manifest &m = *module.manifest;
  int index = module.findEntry("step");
  if (!module.artifact)
    return report.fail(RAPT_INVALID, "the module %s was only inspected, so it cannot run", m.name.c_str());
  if (index < 0 || !m.hasCache || m.vocabulary < 1 || m.maxTokens < 1 || m.maxRows < 1 || m.maxPositions < 1)
    return report.fail(RAPT_UNSUPPORTED,
                       "the model %s is no decoder: it has no entry step, cache, vocabulary or bounds", m.name.c_str());
  const ManifestEntry &entry = m.entries[index];
  if (entry.buffers.size() != roleCount || entry.dims.size() != dimCount)
    return report.fail(RAPT_UNSUPPORTED,
                       "entry step of %s takes %zu buffers and %zu dims; this runtime gives %d and %d", m.name.c_str(),
                       entry.buffers.size(), entry.dims.size(), roleCount, dimCount);
  for (int i = 0; i < roleCount; ++i) {
    int role = findRole(entry.buffers[i]);
    if (role < 0)
      return report.fail(RAPT_UNSUPPORTED, "entry step of %s has a buffer %s %s that this runtime does not know",
                         m.name.c_str(), entry.buffers[i].name.c_str(), entry.buffers[i].dtype.c_str());
    roles[i] = Role(role);
  }
  for (int i = 0; i < dimCount; ++i) {
    int dim = findDim(entry.dims[i].name);
    if (dim < 0)
      return report.fail(RAPT_UNSUPPORTED, "entry step of %s has a dim %s that this runtime does not know",
                         m.name.c_str(), entry.dims[i].name.c_str());
    dims[i] = Dim(dim);
  }
  code = &module.artifact->entries[index];
  return RAPT_OK;
}

int64_t Entry::workspace(const int64_t (&values)[dimCount], int64_t workers) const {
  int64_t ordered[dimCount];
  for (int i = 0; i < dimCount; ++i)
    ordered[i] = values[int(dims[i])];
  return code->workspace(ordered, workers);
}

rapt_status Entry::run(Execution &execution, void *const (&buffers)[roleCount], const int64_t (&values)[dimCount],
                       const Report &report) const {
  void *orderedBuffers[roleCount];
  int64_t orderedDims[dimCount];
  for (int i = 0; i < roleCount; ++i)
    orderedBuffers[i] = buffers[int(roles[i])];
  for (int i = 0; i < dimCount; ++i)
    orderedDims[i] = values[int(dims[i])];
  return execution.run(code->run, orderedBuffers, orderedDims, report);
}

} // namespace rapt::runtime
