//===- Decode.h - The meaning of an opcode -----------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "test/Simulator/PTX/Module.h"

namespace rapt::ptx {

/// The suffixes of an opcode, taken one after the other.
class Suffixes {
public:
  explicit Suffixes(std::string_view opcode);

  /// The opcode's first part.
  std::string_view root() const { return parts.front(); }
  /// Takes the next suffix if it is `name`.
  bool take(std::string_view name);
  /// Takes the next suffix if it names a type.
  Type takeType();
  /// Takes the next suffix if it names a state space, shared::cta and shared::cluster among them.
  Space takeSpace();
  /// Takes the next suffix if it begins with `prefix`; the rest.
  std::optional<std::string_view> takeRest(std::string_view prefix);
  /// Takes the next suffix if it is one of `names`; the index among them.
  std::optional<size_t> takeOneOf(std::initializer_list<std::string_view> names);
  bool isDone() const { return next == parts.size(); }
  std::string_view peek() const { return isDone() ? std::string_view() : parts[next]; }

private:
  std::vector<std::string_view> parts;
  size_t next = 1;
};

/// Sets the function and the suffixes' meanings of an instruction. False: this form is not known.
using Decoder = bool (*)(const Kernel &kernel, Suffixes &suffixes, Instruction &instruction);

/// Finds the decoder of the opcode and calls it. Errors go on from the opcode's name: "is not known to the simulator".
Status decode(const Kernel &kernel, Instruction &instruction);

// One function for each group of instructions, in Instructions/.
bool decodeIntegers(const Kernel &, Suffixes &, Instruction &);
bool decodeFloats(const Kernel &, Suffixes &, Instruction &);
bool decodeLogic(const Kernel &, Suffixes &, Instruction &);
bool decodeComparisons(const Kernel &, Suffixes &, Instruction &);
bool decodeConversions(const Kernel &, Suffixes &, Instruction &);
bool decodeControl(const Kernel &, Suffixes &, Instruction &);
bool decodeMoves(const Kernel &, Suffixes &, Instruction &);
bool decodeMemory(const Kernel &, Suffixes &, Instruction &);
bool decodeAtomics(const Kernel &, Suffixes &, Instruction &);
bool decodeWarp(const Kernel &, Suffixes &, Instruction &);
bool decodeBarriers(const Kernel &, Suffixes &, Instruction &);
bool decodeMbarriers(const Kernel &, Suffixes &, Instruction &);
bool decodeCopies(const Kernel &, Suffixes &, Instruction &);
bool decodeBulkCopies(const Kernel &, Suffixes &, Instruction &);
bool decodeMatrices(const Kernel &, Suffixes &, Instruction &);
bool decodeMma(const Kernel &, Suffixes &, Instruction &);
bool decodeWgmma(const Kernel &, Suffixes &, Instruction &);

} // namespace rapt::ptx
