//===- Scalar.h - Scalar arithmetic, alone and in regions ------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Value.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rapt::reference {

/// A scalar in a register of a ScalarProgram; the IR's types tell which member it is. Integers are sign-extended.
template <typename Scalar> union Slot {
  int64_t i;
  Scalar f;
  const Tensor<Scalar> *table; ///< of a block argument that attn.lookup reads, or a tensor that tensor.extract reads
};

/// One arith or math op on slots.
template <typename Scalar> struct Instruction {
  using Run = void (*)(const Instruction &, Slot<Scalar> *);
  Run run = nullptr;
  unsigned operands[4] = {}, result = 0; ///< of a lookup: the table, then its indices
  unsigned width = 64, resultWidth = 64; ///< bits of the first operand and of the result, where they are integers
  int64_t predicate = 0;                 ///< of arith.cmpi and arith.cmpf; of a step of tensor.extract, its dim
  mlir::Type resultType;
  std::optional<size_t> jump = {}; ///< the instruction that follows where the result is not 0
};

/// True for index, integers of at most 64 bits, and floats.
bool isScalarType(mlir::Type type);

/// The instruction of an arith or math op, on scalars or on the elements of tensors; errors name the op when the
/// imported stage does not have it.
template <typename Scalar> mlir::FailureOr<Instruction<Scalar>> instructionOf(mlir::Operation *op);

/// The slot of a scalar constant.
template <typename Scalar> Slot<Scalar> slotOf(mlir::TypedAttr constant);

/// A region of scalar ops, made ready to be run for many elements.
template <typename Scalar> class ScalarProgram {
public:
  /// `captured` gives scalars, and tensors that tensor.extract reads in a region of linalg, from outside of the region;
  /// null means that there is none. Errors are emitted at the op that cannot be run.
  using Capture = llvm::function_ref<const Value<Scalar> *(mlir::Value)>;
  static mlir::FailureOr<ScalarProgram> compile(mlir::Region &region, Capture captured);

  /// The block argument `i`, to be set before a run. The program does not change arguments.
  Slot<Scalar> &argument(unsigned i) { return slots[i]; }
  /// The point of the loops around, which linalg.index reads.
  void setIndices(llvm::ArrayRef<int64_t> point) {
    for (auto [slot, dim] : indices)
      slots[slot].i = point[dim];
  }
  /// Runs the region and returns the first value that it yields.
  Slot<Scalar> run() {
    for (size_t at = 0; at < instructions.size();) {
      const Instruction<Scalar> &instruction = instructions[at++];
      instruction.run(instruction, slots.data());
      if (instruction.jump && slots[instruction.result].i != 0)
        at = *instruction.jump;
    }
    return slots[yielded[0]];
  }
  /// Value `i` that the last run yielded.
  Slot<Scalar> result(unsigned i) const { return slots[yielded[i]]; }
  /// Whether some run has read beyond a tensor.
  bool hasReadBeyond() const { return beyond && slots[*beyond].i != 0; }

private:
  class Compiler;

  std::vector<Slot<Scalar>> slots;
  std::vector<Instruction<Scalar>> instructions;
  std::vector<std::pair<unsigned, unsigned>> indices; ///< slot and loop of each linalg.index
  std::vector<unsigned> yielded;
  std::optional<unsigned> beyond; ///< slot of what hasReadBeyond tells
};

} // namespace rapt::reference
