//===- Entry.h - An entry that keeps sequences -----------------------------------===//
#pragma once
#include "lib/Runtime/Execution.h"
#include "lib/Runtime/Module.h"
#include <array>

namespace rapt::runtime {

using Role = EntryRole;
using Dim = EntryDim;
inline constexpr int roleCount = entryRoleCount, dimCount = entryDimCount;
inline constexpr Dim unusedDim = Dim(dimCount); ///< of another entry: no buffer has it

/// The parts of a slot of states, and the bytes of each; 0: the model has none.
inline constexpr Role stateRoles[] = {Role::State, Role::ConvState};
using SlotBytes = std::array<int64_t, std::size(stateRoles)>;
/// Those of an entry's buffers; 0 also of one that is not [slots, ...].
SlotBytes slotBytesOf(const ManifestEntry &entry);

/// The dims of a call by what they are.
struct DimValues {
  int64_t values[dimCount]{};
  int64_t &operator[](Dim dim) { return values[int(dim)]; }
  int64_t operator[](Dim dim) const { return values[int(dim)]; }
};

/// Whether the output is there on request.
constexpr bool isMap(Role role) { return (rowOf(role).step | rowOf(role).encode) & part::Request; }
/// Whether the context holds the buffer as an argument of its calls.
constexpr bool isArgument(Role role) {
  const BufferKind kind = rowOf(role).kind;
  return (kind == BufferKind::Input || kind == BufferKind::Output) && role != Role::Logits && role != Role::GivenLogits;
}

/// An output of attention that an artifact has on request: probabilities [tokens, layers, heads, positions], or
/// log-sum-exp [tokens, layers, heads].
struct AttentionMap {
  Role role;
  int rank;                  ///< of `shape`
  int64_t shape[3], columns; ///< of a token
};
inline constexpr int mostAttentionMaps = 4; ///< of an entry
inline constexpr int mostEntryDims = 16;    ///< those of other entries among them

/// Whether the buffer has the name, the type and the shape of the role. An entry with one token of each sequence has
/// the dim of rows in place of tokens, and so have the outputs of one that reads features.
bool isOf(Role role, const ManifestEntry &entry, const ManifestBuffer &buffer);
/// Whether groups of rows are those of so many adapters.
bool hasGroups(const ManifestBuffer &buffer, size_t adapters);

/// An entry of the artifact, with the roles of its buffers and dims.
struct Entry {
  const rapt_artifact_entry *code = nullptr;
  const ManifestEntry *manifest = nullptr; ///< of the same entry
  int buffers = 0, extents = 0;            ///< how many of `roles` and `dims` it has
  uint64_t present = 0;                    ///< a bit for each of `roles`
  Role roles[roleCount]{};
  Dim dims[mostEntryDims]{};
  int64_t columns = 0;   ///< of a token of encode's output, whose rows may be padded, of an image's vector, or of a
                         ///< row of tokens
  SlotBytes slotBytes{}; ///< of what a sequence keeps beside the cache
  bool isSerial = false; ///< takes exactly one token of each row
  /// Tokens of the longest text with the rotary embedding of short ones; 0: all texts have the same.
  int64_t shortText = 0;
  int64_t features = 0; ///< numbers of a source, of an encoder that reads features of sound or images
  int maps = 0;         ///< how many of `map` it has
  AttentionMap map[mostAttentionMaps]{};

  bool has(Role role) const { return present >> int(role) & 1; }
  /// The role of a source that is no text.
  Role sourceRole() const { return has(Role::PixelValues) ? Role::PixelValues : Role::InputFeatures; }

  /// Finds entry "step" of a decoder; RAPT_UNSUPPORTED when it has a shape this runtime does not know.
  rapt_status bindStep(const rapt_module &module, const Report &report);
  /// Binds the entry "encode", which the model must have.
  rapt_status bindEncode(const rapt_module &module, const Report &report);
  /// Binds an entry that finds the most likely tokens, if the code is for a GPU and has it; `columns` is how many.
  rapt_status bindTop(const rapt_module &module, const char *name, const Report &report);
  /// Bytes of the workspace of a call.
  int64_t workspace(const DimValues &values, int64_t workers) const;
  /// The values in the order of the entry's dims.
  void order(const DimValues &values, int64_t *ordered) const {
    for (int i = 0; i < extents; ++i)
      ordered[i] = dims[i] == unusedDim ? 1 : values[dims[i]];
  }
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
};

} // namespace rapt::runtime
