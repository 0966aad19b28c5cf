#include "lib/Runtime/Weights.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rapt::runtime {

using ull = unsigned long long;

Weights::~Weights() {
  if (owned)
    munmap(const_cast<char *>(base), bytes);
}

static rapt_status tooShort(const char *name, uint64_t bytes, const Report &report) {
  return report.fail(RAPT_BAD_FILE, "%s: %llu bytes, shorter than the header of a weight file (%zu bytes)", name,
                     ull(bytes), sizeof(rapt_weights_header));
}

/// Brings mapped bytes into memory.
static void populate(const char *memory, uint64_t bytes) {
#ifdef MADV_POPULATE_READ
  if (madvise(const_cast<char *>(memory), bytes, MADV_POPULATE_READ) == 0)
    return;
#endif
  for (uint64_t at = 0; at < bytes; at += 4096) // Linux before 5.14
    static_cast<void>(*static_cast<const volatile char *>(memory + at));
}

rapt_status Weights::adopt(const File &file, const Manifest &manifest, uint32_t flags, const char *name,
                           const Report &report) {
  if (file.size() < sizeof(rapt_weights_header))
    return tooShort(name, file.size(), report);
  bool read = flags & RAPT_READ_WEIGHTS;
  int how = MAP_PRIVATE | (read ? MAP_ANONYMOUS : 0);
  void *memory = mmap(nullptr, file.size(), PROT_READ | (read ? PROT_WRITE : 0), how, read ? -1 : file.get(), 0);
  if (memory == MAP_FAILED)
    return report.fail(errno == ENOMEM ? RAPT_NOMEM : RAPT_IO, "%s: no memory for the weights of %llu bytes: %s", name,
                       ull(file.size()), strerror(errno));
  // Large pages, of a file where its file system has them: fewer misses of the address cache, and longer runs for the
  // prefetcher. A system without is no worse off.
  madvise(memory, file.size(), MADV_HUGEPAGE);
  if ((flags & RAPT_POPULATE) && !read)
    populate(static_cast<const char *>(memory), file.size());
  base = static_cast<char *>(memory);
  bytes = file.size();
  owned = true;
  if (read && !file.readExactly(memory, bytes, 0))
    return report.fail(RAPT_IO, "%s: reading %llu bytes failed: the file changed or the disk failed", name, ull(bytes));
  rapt_status status = check(manifest, flags, name, report);
  if (!status && !read)
    adviseTables(manifest);
  return status;
}

/// Of a table whose rows are looked up only these are to come into memory, not the 2 MiB around each of them. What is
/// around the table keeps its large pages: those that it shares with the table. A GPU has a
/// copy, which is made from end to end; so do checks and RAPT_POPULATE read, which therefore come before.
void Weights::adviseTables(const Manifest &manifest) const {
  constexpr uintptr_t largePage = uintptr_t(2) << 20;
  if (!manifest.gpus.empty())
    return;
  for (const ManifestRange &table : manifest.tables) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(data()) + table.offset;
    const uintptr_t begin = (at + largePage - 1) / largePage * largePage,
                    end = (at + table.bytes) / largePage * largePage;
    if (begin >= end)
      continue;
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_NOHUGEPAGE);
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_RANDOM);
  }
}

rapt_status Weights::borrow(const void *data, uint64_t size, const Manifest &manifest, uint32_t flags, const char *name,
                            const Report &report) {
  if (reinterpret_cast<uintptr_t>(data) % 64)
    return report.fail(RAPT_INVALID, "%s: address %p is not a multiple of 64", name, data);
  if (size < sizeof(rapt_weights_header))
    return tooShort(name, size, report);
  base = static_cast<const char *>(data);
  bytes = size;
  return check(manifest, flags, name, report);
}

static rapt_status checkSections(const rapt_weights_header &h, const char *name, const Report &report) {
  for (uint32_t i = 0; i < h.section_count; ++i) {
    const rapt_weights_section &s = h.sections[i];
    if (!memchr(s.name, 0, sizeof s.name))
      return report.fail(RAPT_BAD_FILE, "%s: the name of section %u has no end", name, i);
    if (s.offset % RAPT_WEIGHTS_ALIGNMENT || s.offset < sizeof h || s.offset > h.file_bytes ||
        s.bytes > h.file_bytes - s.offset)
      return report.fail(RAPT_BAD_FILE, "%s: section %s, %llu bytes at %llu, does not lie in the file's %llu bytes",
                         name, s.name, ull(s.bytes), ull(s.offset), ull(h.file_bytes));
  }
  return RAPT_OK;
}

rapt_status Weights::check(const Manifest &manifest, uint32_t flags, const char *name, const Report &report) const {
  const rapt_weights_header &h = header();
  if (h.magic != RAPT_WEIGHTS_MAGIC)
    return report.fail(RAPT_BAD_FILE, "%s: not a weight file of Rapt", name);
  if (h.version != 1)
    return report.fail(RAPT_MISMATCH, "%s: weight file version %u, this runtime (Rapt %s) reads version 1", name,
                       h.version, rapt_version());
  if (h.file_bytes != bytes)
    return report.fail(RAPT_BAD_FILE, "%s: %llu bytes, but its header says %llu: %s", name, ull(bytes),
                       ull(h.file_bytes), bytes < h.file_bytes ? "it is truncated" : "something was added");
  if (h.section_count < 1 || h.section_count > RAPT_WEIGHTS_MAX_SECTIONS)
    return report.fail(RAPT_BAD_FILE, "%s: %u sections, not 1 to %d", name, h.section_count, RAPT_WEIGHTS_MAX_SECTIONS);
  if (rapt_status status = checkSections(h, name, report))
    return status;
  Id interfaceId;
  const Id contentId = this->contentId();
  memcpy(interfaceId.bytes, h.interface_id, 16);
  if (memcmp(h.interface_id, manifest.interfaceId.bytes, 16))
    return report.fail(RAPT_MISMATCH, "%s: weights of interface %s, the model %s needs interface %s", name,
                       show(interfaceId).text, manifest.name.c_str(), show(manifest.interfaceId).text);
  bool same = !memcmp(h.content_id, manifest.contentId.bytes, 16);
  const bool wasPacked = memcmp(manifest.contentId.bytes, Id().bytes, 16) != 0; // else any content fits
  if (!same && wasPacked && !(flags & RAPT_ANY_CONTENT))
    return report.fail(
        RAPT_MISMATCH,
        "%s: weights with content %s, the model %s was compiled with content %s (other weights of the same "
        "shapes are accepted on request)",
        name, show(contentId).text, manifest.name.c_str(), show(manifest.contentId).text);
  if (strcmp(h.sections[0].name, "weights") || h.sections[0].bytes != manifest.weightsBytes)
    return report.fail(
        RAPT_BAD_FILE,
        "%s: %llu bytes with %llu bytes of section %s first, the model %s has %llu bytes with %llu bytes of "
        "weights",
        name, ull(bytes), ull(h.sections[0].bytes), h.sections[0].name, manifest.name.c_str(),
        ull(manifest.weightsFileBytes), ull(manifest.weightsBytes));
  if (flags & RAPT_VERIFY) {
    Id found = hashSections(base, h);
    if (memcmp(found.bytes, h.content_id, 16))
      return report.fail(RAPT_BAD_FILE, "%s: the bytes hash to %s, but its header says %s: it is damaged", name,
                         show(found).text, show(contentId).text);
  }
  return RAPT_OK;
}

Id Weights::contentId() const {
  Id id;
  memcpy(id.bytes, header().content_id, 16);
  return id;
}

const void *Weights::section(const char *name, size_t *size) const {
  for (uint32_t i = 0; base && i < header().section_count; ++i)
    if (strcmp(header().sections[i].name, name) == 0) {
      *size = header().sections[i].bytes;
      return base + header().sections[i].offset;
    }
  *size = 0;
  return nullptr;
}

Id hashSections(const char *file, const rapt_weights_header &header) {
  constexpr uint64_t piece = uint64_t(4) << 20;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (uint32_t i = 0; i < header.section_count; ++i)
    for (uint64_t at = 0; at < header.sections[i].bytes; at += piece) {
      uint64_t left = header.sections[i].bytes - at;
      XXH128_canonical_t digest;
      XXH128_canonicalFromHash(&digest,
                               XXH3_128bits(file + header.sections[i].offset + at, left < piece ? left : piece));
      XXH3_128bits_update(&state, &digest, sizeof digest);
    }
  XXH128_canonical_t result;
  XXH128_canonicalFromHash(&result, XXH3_128bits_digest(&state));
  Id id;
  memcpy(id.bytes, &result, 16);
  return id;
}

} // namespace rapt::runtime
