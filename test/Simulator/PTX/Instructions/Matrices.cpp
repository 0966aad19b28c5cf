//===- Matrices.cpp - ldmatrix and stmatrix -----------------------------------------------===//
//
// Source: PTX ISA 9.7.14, ldmatrix and stmatrix. Lane l holds elements 2 (l % 4) and the next of row
// l / 4 of each 8 x 8 matrix of 16-bit elements; lane 8 i + r gives the address of row r of matrix i.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt::ptx;

namespace {

using Matrix = std::array<std::array<uint16_t, 8>, 8>;
constexpr unsigned rowBytes = 16;

Outcome loadMatrices(Execution &e) {
  Lanes<uint64_t> addresses = readAddress(e, e.operand(1));
  const std::vector<Operand> &registers = e.operand(0).elements;
  for (unsigned number = 0; number < e.instruction.count; ++number) {
    Matrix matrix{};
    for (unsigned row = 0; row < 8; ++row) {
      unsigned lane = 8 * number + row;
      Place place = locate(e, Space::Shared, addresses[lane], rowBytes, rowBytes, lane);
      if (!place)
        continue;
      noteRead(e, place, rowBytes, wholeWarp);
      std::memcpy(matrix[row].data(), place.data, rowBytes);
    }
    Lanes<uint32_t> values;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      unsigned row = lane / 4, column = 2 * (lane % 4);
      uint32_t low = e.instruction.isTransposed ? matrix[column][row] : matrix[row][column];
      uint32_t high = e.instruction.isTransposed ? matrix[column + 1][row] : matrix[row][column + 1];
      values[lane] = low | high << 16;
    }
    write(e, registers[number], values);
  }
  return Outcome::Next;
}

Outcome storeMatrices(Execution &e) {
  Lanes<uint64_t> addresses = readAddress(e, e.operand(0));
  const std::vector<Operand> &registers = e.operand(1).elements;
  for (unsigned number = 0; number < e.instruction.count; ++number) {
    Lanes<uint32_t> values = read<uint32_t>(e, registers[number]);
    Matrix matrix{};
    for (unsigned lane = 0; lane < warpSize; ++lane)
      for (unsigned half : {0u, 1u}) {
        unsigned row = lane / 4, column = 2 * (lane % 4) + half;
        (e.instruction.isTransposed ? matrix[column][row] : matrix[row][column]) = uint16_t(values[lane] >> 16 * half);
      }
    for (unsigned row = 0; row < 8; ++row) {
      unsigned lane = 8 * number + row;
      Place place = locate(e, Space::Shared, addresses[lane], rowBytes, rowBytes, lane);
      if (place && noteWrite(e, place, rowBytes, lane))
        std::memcpy(place.data, matrix[row].data(), rowBytes);
    }
  }
  return Outcome::Next;
}

} // namespace

bool rapt::ptx::decodeMatrices(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  bool isLoad = suffixes.root() == "ldmatrix";
  if (!isLoad && suffixes.root() != "stmatrix")
    return false;
  bool isAligned = suffixes.take("sync") && suffixes.take("aligned");
  bool isShape = suffixes.take("m8n8");
  std::optional<size_t> count = suffixes.takeOneOf({"x1", "x2", "x4"});
  instruction.isTransposed = suffixes.take("trans");
  bool isShared = suffixes.takeSpace() == Space::Shared && suffixes.take("b16");
  instruction.count = uint8_t(1u << count.value_or(0));
  instruction.isConvergent = true;
  instruction.execute = isLoad ? loadMatrices : storeMatrices;
  if (!isAligned || !isShape || !count || !isShared || instruction.operands.size() != 2)
    return false;
  const Operand &registers = instruction.operands[!isLoad], &address = instruction.operands[isLoad];
  return registers.kind == Operand::Kind::Vector && registers.elements.size() == instruction.count &&
         address.kind == Operand::Kind::Address;
}
