//===- Mma.cpp - mma.sync ------------------------------------------------------------------===//
//
// Source: PTX ISA 9.7.14, matrix fragments for mma. The elements of a 32-bit register are neighbors
// along k. Sums are exact (integers) or in double and rounded once to the accumulator.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt;
using namespace rapt::ptx;

namespace {

/// A fragment element's place in its matrix.
struct Position {
  unsigned row, column;
};

/// Element `part` of register `reg` of the 16 x k matrix A, where a register holds `parts` elements.
Position positionInA(unsigned lane, unsigned reg, unsigned part, unsigned parts) {
  return {lane / 4 + 8 * (reg % 2), lane % 4 * parts + part + 4 * parts * (reg / 2)};
}

/// Element `part` of register `reg` of the k x 8 matrix B, whose rows count along k.
Position positionInB(unsigned lane, unsigned reg, unsigned part, unsigned parts) {
  return {lane % 4 * parts + part + 4 * parts * reg, lane / 4};
}

/// Element `element` of the four of a lane in the 16 x 8 accumulators.
Position positionInC(unsigned lane, unsigned element) {
  return {lane / 4 + 8 * (element / 2), 2 * (lane % 4) + element % 2};
}

constexpr unsigned rows = 16, columns = 8, mostK = 32;

struct Matrices {
  double a[rows][mostK], b[mostK][columns], c[rows][columns];
};

void readA(Execution &e, const Operand &operand, Matrices &matrices) {
  unsigned size = sizeOf(e.instruction.type), parts = 4 / size;
  for (unsigned reg = 0; reg < operand.elements.size(); ++reg) {
    Lanes<uint32_t> values = read<uint32_t>(e, operand.elements[reg]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      for (unsigned part = 0; part < parts; ++part) {
        Position at = positionInA(lane, reg, part, parts);
        matrices.a[at.row][at.column] = decodeMatrixElement(e.instruction.type, values[lane] >> 8 * size * part);
      }
  }
}

void readB(Execution &e, const Operand &operand, Matrices &matrices) {
  unsigned size = sizeOf(e.instruction.sourceType), parts = 4 / size;
  for (unsigned reg = 0; reg < operand.elements.size(); ++reg) {
    Lanes<uint32_t> values = read<uint32_t>(e, operand.elements[reg]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      for (unsigned part = 0; part < parts; ++part) {
        Position at = positionInB(lane, reg, part, parts);
        matrices.b[at.row][at.column] = decodeMatrixElement(e.instruction.sourceType, values[lane] >> 8 * size * part);
      }
  }
}

enum Accumulator : uint8_t { F32, F16, S32 };

double decodeAccumulator(uint8_t accumulator, uint32_t bits, unsigned half) {
  return accumulator == F32   ? double(std::bit_cast<float>(bits))
         : accumulator == F16 ? double(f16ToF32(uint16_t(bits >> 16 * half)))
                              : double(int32_t(bits));
}

void readC(Execution &e, const Operand &operand, Matrices &matrices) {
  bool isPacked = e.instruction.operation == F16;
  for (unsigned element = 0; element < 4; ++element) {
    Lanes<uint32_t> values = read<uint32_t>(e, operand.elements[isPacked ? element / 2 : element]);
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      Position at = positionInC(lane, element);
      matrices.c[at.row][at.column] = decodeAccumulator(e.instruction.operation, values[lane], element % 2);
    }
  }
}

void writeD(Execution &e, const Operand &operand, const Matrices &matrices) {
  uint8_t accumulator = e.instruction.operation;
  for (unsigned reg = 0; reg < operand.elements.size(); ++reg) {
    Lanes<uint32_t> values;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      Position at = positionInC(lane, accumulator == F16 ? 2 * reg : reg);
      double first = matrices.c[at.row][at.column];
      if (accumulator == F32)
        values[lane] = std::bit_cast<uint32_t>(float(first));
      else if (accumulator == S32)
        values[lane] = uint32_t(int64_t(first));
      else
        values[lane] = FormatF16::encode(first) | uint32_t(FormatF16::encode(matrices.c[at.row][at.column + 1])) << 16;
    }
    write(e, operand.elements[reg], values);
  }
}

Outcome multiply(Execution &e) {
  Matrices matrices;
  readA(e, e.operand(1), matrices);
  readB(e, e.operand(2), matrices);
  readC(e, e.operand(3), matrices);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned k = 0; k < e.instruction.k; ++k)
      for (unsigned column = 0; column < columns; ++column)
        matrices.c[row][column] += matrices.a[row][k] * matrices.b[k][column];
  writeD(e, e.operand(0), matrices);
  return Outcome::Next;
}

bool isMatrixType(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::TF32 || type == Type::E4M3 || type == Type::E5M2 ||
         type == Type::S8 || type == Type::U8;
}

/// m16n8kK: a register row of A is 4 lanes x 4 bytes, so that K is a multiple of 16 bytes.
bool hasRegisters(const Instruction &instruction) {
  unsigned kBytes = instruction.k * sizeOf(instruction.type);
  size_t accumulators = instruction.operation == F16 ? 2 : 4;
  const std::vector<Operand> &operands = instruction.operands;
  return operands.size() == 4 && (kBytes == 16 || kBytes == 32) && operands[0].elements.size() == accumulators &&
         operands[1].elements.size() == kBytes / 8 && operands[2].elements.size() == kBytes / 16 &&
         operands[3].elements.size() == accumulators;
}

} // namespace

bool rapt::ptx::decodeMma(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() != "mma" || !suffixes.take("sync") || !suffixes.take("aligned"))
    return false;
  constexpr unsigned extents[] = {4, 8, 16, 32};
  std::optional<size_t> shape = suffixes.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (!shape || !suffixes.take("row") || !suffixes.take("col"))
    return false;
  suffixes.takeRest("kind::");
  suffixes.take("satfinite");
  instruction.k = extents[*shape];
  Type d = suffixes.takeType();
  instruction.type = suffixes.takeType();
  instruction.sourceType = suffixes.takeType();
  Type c = suffixes.takeType();
  instruction.operation = d == Type::F32 ? F32 : d == Type::F16 ? F16 : S32;
  instruction.isConvergent = true;
  instruction.execute = multiply;
  bool isInteger = instruction.type == Type::S8 || instruction.type == Type::U8;
  return c == d && (isInteger ? d == Type::S32 : d == Type::F32 || (d == Type::F16 && instruction.type == Type::F16)) &&
         isMatrixType(instruction.type) && isMatrixType(instruction.sourceType) &&
         sizeOf(instruction.type) == sizeOf(instruction.sourceType) && hasRegisters(instruction);
}
