//===- Entry.h - An entry that keeps sequences -----------------------------------===//
#pragma once
#include "lib/Runtime/Execution.h"
#include "lib/Runtime/Module.h"

namespace rapt::runtime {

using Role = EntryRole;
using Dim = EntryDim;
inline constexpr int roleCount = entryRoleCount, dimCount = entryDimCount;
inline constexpr Dim unusedDim = Dim(dimCount); ///< of another entry: no buffer has it

/// An output of attention that an artifact has on request: probabilities [tokens, layers, heads, positions], or
/// log-sum-exp [tokens, layers, heads].
struct AttentionMap {
  Role role;
  const char *name;
  int rank;                  ///< of `shape`
  int64_t shape[3], columns; ///< of a token
};
inline constexpr int mostAttentionMaps = 4; ///< of an entry
inline constexpr int mostEntryDims = 16;    ///< those of other entries among them

/// An entry of the artifact, with the roles of its buffers and dims.
struct Entry {
  const rapt_artifact_entry *code = nullptr;
  const ManifestEntry *manifest = nullptr; ///< of the same entry
  int buffers = 0, extents = 0;            ///< how many of `roles` and `dims` it has
  Role roles[roleCount]{};
  Dim dims[mostEntryDims]{};
  int64_t columns = 0;    ///< of a token of encode's output, whose rows may be padded, of an image's vector, or of a
                          ///< row of tokens
  int64_t stateBytes = 0; ///< of what a sequence keeps beside the cache; 0 where it keeps nothing
  bool isSerial = false;  ///< takes exactly one token of each row
  /// Tokens of the longest text with the rotary embedding of short ones; 0: all texts have the same.
  int64_t shortText = 0;
  int64_t features = 0; ///< numbers of a source, of an encoder that reads features of sound or images
  int maps = 0;         ///< how many of `map` it has
  AttentionMap map[mostAttentionMaps]{};

  bool has(Role role) const;
  /// The role of a source that is no text.
  Role sourceRole() const { return has(Role::PixelValues) ? Role::PixelValues : Role::InputFeatures; }

  /// Finds entry "step" of a decoder; RAPT_UNSUPPORTED when it has a shape this runtime does not know.
  rapt_status bindStep(const rapt_module &module, const Report &report);
  /// Binds the entry "encode", which the model must have.
  rapt_status bindEncode(const rapt_module &module, const Report &report);
  /// Binds an entry that finds the most likely tokens, if the code is for a GPU and has it; `columns` is how many.
  rapt_status bindTop(const rapt_module &module, const char *name, const Report &report);
  int64_t workspace(const int64_t (&values)[dimCount], int64_t workers) const;
  /// `with`: arguments of its own on a GPU.
  rapt_status run(Execution &execution, void *const (&given)[roleCount], const int64_t (&values)[dimCount],
                  const Report &report, DeviceArguments *with = nullptr) const;
  /// The number of a role's buffer, which the entry has.
  size_t bufferOf(Role role) const;

private:
  rapt_status checkAdapters(const rapt_module &module, const Report &report) const;
  /// `column` of the table has the parts of a model that give the entry a buffer; this model has `parts`.
  rapt_status bind(const rapt_module &module, int index, uint32_t RoleRow::*column, uint32_t parts,
                   const Report &report);
  /// The sizes of an entry that reads features, once it is bound.
  rapt_status bindFeatures(const rapt_module &module, const Report &report);
  bool addMap(const ManifestBuffer &buffer, Role role, bool isOfFeatures);
  rapt_status bindDims(const rapt_module &module, const ManifestEntry &entry, const Report &report);
  /// The values in the order of the entry's dims.
  void order(const int64_t (&values)[dimCount], int64_t *ordered) const {
    for (int i = 0; i < extents; ++i)
      ordered[i] = dims[i] == unusedDim ? 1 : values[int(dims[i])];
  }
};

} // namespace rapt::runtime
