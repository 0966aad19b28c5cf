//===- Weights.h - The weight file in memory -----------------------------------===//
#pragma once
#include "lib/Runtime/File.h"
#include "lib/Runtime/Manifest.h"
#include "rapt/rapt.h"

namespace rapt::runtime {

/// The bytes of a checked weight file (artifact.h has its layout), mapped, read, or lent by the application.
class Weights {
public:
  Weights() = default;
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights();

  /// Maps or reads the file and checks it against the manifest. `name` stands for it in messages.
  rapt_status adopt(const File &file, const Manifest &manifest, uint32_t flags, const char *name, const Report &report);
  rapt_status borrow(const void *data, uint64_t bytes, const Manifest &manifest, uint32_t flags, const char *name,
                     const Report &report);

  /// Section 0, to which the code's "weights" buffer points.
  const void *data() const { return base + header().sections[0].offset; }
  /// Null when there is no such section.
  const void *section(const char *name, size_t *bytes) const;
  bool present() const { return base; }
  Id contentId() const;

private:
  const rapt_weights_header &header() const { return *reinterpret_cast<const rapt_weights_header *>(base); }
  rapt_status check(const Manifest &manifest, uint32_t flags, const char *name, const Report &report) const;
  void adviseTables(const Manifest &manifest) const;
  const char *base = nullptr;
  uint64_t bytes = 0;
  bool owned = false; ///< unmap at the end
};

/// content_id of the sections of a weight file (artifact.h).
Id hashSections(const char *file, const rapt_weights_header &header);

} // namespace rapt::runtime
