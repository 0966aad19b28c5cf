#include "lib/Runtime/CallerStruct.h"

namespace rapt::runtime {

rapt_status readStructSize(const void *given, size_t least, const char *name, size_t &size, const Report &report) {
  memcpy(&size, given, sizeof size);
  if (size < least || size > mostStructBytes || size % sizeof(size_t))
    return report.fail(RAPT_INVALID, "%s has size %zu, but %zu is expected: set it to sizeof(%s)", name, size, least,
                       name);
  return RAPT_OK;
}

rapt_status checkStruct(const void *given, size_t least, size_t known, const char *name, const Report &report) {
  size_t size;
  if (rapt_status status = readStructSize(given, least, name, size, report))
    return status;
  const char *bytes = static_cast<const char *>(given);
  for (size_t at = known; at < size; ++at)
    if (bytes[at])
      return report.fail(RAPT_UNSUPPORTED,
                         "%s has size %zu and a value at byte %zu; this runtime (Rapt %s) knows the first %zu bytes",
                         name, size, at, rapt_version(), known);
  return RAPT_OK;
}

} // namespace rapt::runtime
