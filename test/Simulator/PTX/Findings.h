//===- Findings.h - Faults of a kernel that hardware does not tell ----------===//
#pragma once
#include "test/Simulator/PTX/Types.h"
#include <map>
#include <string>
#include <vector>

namespace rapt::ptx {

enum class FindingKind : uint8_t {
  UninitializedRegister,
  UninitializedMemory,
  OutOfBounds,
  Misaligned,
  Race,
  MissingWait, ///< something is used while an asynchronous operation reads or writes it
  MissingFence,
  Deadlock,
  Divergence, ///< lanes that must execute an instruction together do not
  Misuse      ///< an operand that the instruction does not allow
};
std::string_view nameOf(FindingKind kind);

/// One fault at one line of the text, with its first occurrence.
struct Finding {
  FindingKind kind;
  uint32_t line;
  std::string text; ///< one line, which begins with the instruction's line and the thread
  uint64_t count = 1;
};

/// Faults of a launch. One line of the text has one finding of a kind.
class Findings {
public:
  void add(FindingKind kind, uint32_t line, const std::string &text);
  const std::vector<Finding> &all() const { return list; }
  bool empty() const { return list.empty(); }
  bool has(FindingKind kind, uint32_t line) const { return index.contains({kind, line}); }

private:
  std::vector<Finding> list;
  std::map<std::pair<FindingKind, uint32_t>, size_t> index;
};

} // namespace rapt::ptx
