//===- EntryRoles.h - The buffers of a model's entries ----------------------------===//
//
// One table for those who declare the buffers (lib/Import, attn-add-token-entries), who fill them (the
// runtime, the reference evaluator) and who describe them. The rows are
// those of EntryRoles.def.
//
// Two kinds of entries deviate from the shapes of the table: `tokens` of a step that takes
// one token of each sequence is [rows], and outputs of an encoder whose sources all have
// as many positions are [rows, positions, ...] in place of [tokens, ...].
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rapt {

enum class BufferKind : uint8_t { Weights, Workspace, Cache, Input, Output };

enum class EntryDim : uint8_t {
#define RAPT_ENTRY_DIM(DIM, NAME, DOC) DIM,
#include "lib/Support/EntryRoles.def"
};
inline constexpr const char *entryDimNames[] = {
#define RAPT_ENTRY_DIM(DIM, NAME, DOC) NAME,
#include "lib/Support/EntryRoles.def"
};
inline constexpr int entryDimCount = int(std::size(entryDimNames));

enum class EntryRole : uint8_t {
#define RAPT_ENTRY_ROLE(ROLE, NAME, KIND, TYPE, SHAPE, STEP, ENCODE, TOP, DOC) ROLE,
#include "lib/Support/EntryRoles.def"
};

/// The parts of a model that give its entries buffers, as bits.
namespace part {
enum class Number : uint8_t {
#define RAPT_MODEL_PART(PART, DOC) PART,
#include "lib/Support/EntryRoles.def"
};
#define RAPT_MODEL_PART(PART, DOC) inline constexpr uint32_t PART = uint32_t(1) << int(Number::PART);
#include "lib/Support/EntryRoles.def"
inline constexpr uint32_t Never = 0;
} // namespace part

/// The extents of a buffer: dims, the first of which may be one more, and then maybe numbers.
struct RoleShape {
  EntryDim dims[2] = {};
  int count = 0;    ///< how many of `dims` there are
  int64_t plus = 0; ///< of the first extent
  bool hasNumbers = false;

  /// Reads "[rows+1]", "[rows, table]" or "[wanted, ...]". Text of another form does not compile.
  static consteval RoleShape of(std::string_view text) {
    RoleShape shape;
    for (text = text.substr(text.empty() ? 0 : 1); !text.empty();) {
      const size_t end = text.find_first_of(",]");
      std::string_view word = text.substr(0, end);
      text.remove_prefix(text[end] == ',' ? end + 2 : text.size());
      if (word == "...") {
        shape.hasNumbers = true;
        continue;
      }
      if (word.ends_with("+1")) {
        word.remove_suffix(2);
        shape.plus = 1;
      }
      int dim = 0;
      while (word != entryDimNames[dim])
        ++dim;
      shape.dims[shape.count++] = EntryDim(dim);
    }
    return shape;
  }
};

struct RoleRow {
  const char *name;
  BufferKind kind;
  const char *type; ///< "i32"; empty where the layout is the compiler's
  RoleShape shape;
  uint32_t step, encode, top; ///< parts of a model, any of which gives these entries the buffer
};

namespace part {
inline constexpr RoleRow rows[] = {
#define RAPT_ENTRY_ROLE(ROLE, NAME, KIND, TYPE, SHAPE, STEP, ENCODE, TOP, DOC)                                         \
  {NAME, BufferKind::KIND, TYPE, RoleShape::of(SHAPE), STEP, ENCODE, TOP},
#include "lib/Support/EntryRoles.def"
};
} // namespace part
inline constexpr int entryRoleCount = int(std::size(part::rows));

constexpr const RoleRow &rowOf(EntryRole role) { return part::rows[int(role)]; }
constexpr const char *nameOf(EntryRole role) { return rowOf(role).name; }
constexpr const char *nameOf(EntryDim dim) { return entryDimNames[int(dim)]; }

/// Names of entries.
inline constexpr const char *stepEntry = "step", *encodeEntry = "encode", *forwardEntry = "forward";

/// Names of inputs that callers of `forward` have in place of roles.
namespace caller {
#define RAPT_CALLER_TENSOR(TENSOR, NAME, SHAPE, DOC) inline constexpr const char *TENSOR = NAME;
#include "lib/Support/EntryRoles.def"
} // namespace caller

/// What the runtime keeps under this name from one call to the next, a cache or states; null where it keeps nothing.
constexpr const RoleRow *findKept(std::string_view name) {
  for (const RoleRow &row : part::rows)
    if (row.kind == BufferKind::Cache && name == row.name)
      return &row;
  return nullptr;
}
/// Whether a cache has this name, whose blocks the compiler lays out.
constexpr bool isCacheName(std::string_view name) {
  const RoleRow *kept = findKept(name);
  return kept && !*kept->type;
}

} // namespace rapt
