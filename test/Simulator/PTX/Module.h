//===- Module.h - A parsed PTX module ----------------------------------------===//
//
// Registers, labels and variables are resolved: an instruction names them by index.
// Source: PTX ISA, chapters 4 (syntax) to 6 (operands).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "test/Simulator/PTX/Types.h"
#include <string>
#include <vector>

namespace rapt::ptx {

struct Execution;

/// Registers that the machine sets.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  DynamicSharedSize,
  TotalSharedSize,
  Clock,
  Clock64,
  GlobalTimer,
  SmId,
  NsmId,
  ClusterCtaRank,
  ClusterCtaCount
};

inline constexpr uint32_t noIndex = ~uint32_t(0);

/// An operand of an instruction.
struct Operand {
  enum class Kind : uint8_t {
    Register,  ///< `index`; `isNegated` for a predicate
    Integer,   ///< `value`, sign-extended to 64 bits
    Float32,   ///< `value` holds the bits
    Float64,   ///< `value` holds the bits
    Special,   ///< `special`
    Variable,  ///< the address of variable `index`, plus `value`
    Parameter, ///< the address of parameter `index`, plus `value`
    Address,   ///< [elements[0] + value]; `elements[1..]` are the coordinates of a tensor
    Vector,    ///< {elements...}
    Pair,      ///< elements[0] | elements[1]
    Label,     ///< the instruction `index`
    Sink       ///< _
  };
  Kind kind = Kind::Sink;
  bool isNegated = false;
  Special special = Special::TidX;
  uint32_t index = noIndex;
  uint64_t value = 0;
  std::string name; ///< a label or symbol before it is resolved
  std::vector<Operand> elements;
};

/// How an instruction goes on.
enum class Outcome : uint8_t {
  Next,    ///< the lanes that executed it go to the next instruction
  Jumped,  ///< it has set the lanes' next instructions itself
  Blocked, ///< it waits for something: nothing was executed
  Stopped  ///< the block cannot go on; a finding says why
};

/// An instruction, with the function that executes it and the meaning of its suffixes.
struct Instruction {
  Outcome (*execute)(Execution &execution) = nullptr;
  std::vector<Operand> operands;
  uint32_t guard = noIndex; ///< the predicate register of @p
  bool isGuardNegated = false;
  bool isConvergent = false;   ///< every lane of the warp must execute it together
  bool takesUndefined = false; ///< an operand without a value gives a result without one
  uint32_t line = 0;
  std::string opcode;

  // Meanings of suffixes; each instruction says which ones it has.
  Type type = Type::None;
  Type sourceType = Type::None;
  Space space = Space::Generic;
  Space destinationSpace = Space::Generic;
  uint8_t rounding = 0;
  uint8_t operation = 0;
  uint8_t count = 1; ///< of vector elements, matrices or dimensions
  bool flushes = false, saturates = false, clampsAtZero = false, propagatesNaN = false, isTransposed = false;
  uint32_t m = 0, n = 0, k = 0; ///< shape of a matrix instruction
  uint64_t flags = 0;
};

struct Register {
  std::string name;
  Type type = Type::None;
  uint32_t offset = 0; ///< bytes from the begin of a warp's registers
};

/// A variable of a module or of a kernel.
struct Variable {
  std::string name;
  Space space = Space::Global;
  uint32_t alignment = 1;
  uint64_t size = 0;
  bool isDynamic = false;          ///< extern shared memory, whose size a launch gives
  uint64_t offset = 0;             ///< in its space, of a shared or local variable
  std::vector<std::byte> contents; ///< of a global or constant variable; empty: zeros
};

struct Parameter {
  std::string name;
  uint32_t size = 0, alignment = 1, offset = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  std::vector<Register> registers;
  uint32_t registerBytes = 0;      ///< of a warp
  std::vector<Variable> variables; ///< those of the module, then its own
  uint32_t sharedBytes = 0;        ///< static, from sharedBase on
  uint32_t localBytes = 0;         ///< of a thread
  std::vector<Instruction> instructions;
  std::array<uint32_t, 3> requiredThreads = {0, 0, 0}; ///< .reqntid, or zeros
  std::array<uint32_t, 3> mostThreads = {0, 0, 0};     ///< .maxntid, or zeros
};

struct Module {
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<Kernel> kernels;

  const Kernel *find(std::string_view name) const;
};

/// The first byte of shared memory that a kernel may use: the machine keeps those before (sm_90: 1 KiB).
inline constexpr uint64_t sharedBase = 1024;

} // namespace rapt::ptx
