//===- Values.h - Operands of an instruction as values of lanes -------------===//
#pragma once
#include "test/Simulator/PTX/Block.h"
#include <bit>
#include <cstring>
#include <type_traits>

namespace rapt::ptx {

/// Bytes that a lane of a register takes.
inline unsigned storageOf(const Register &reg) { return std::max(sizeOf(reg.type), 2u); }

/// Reports a register that has no value in one of the lanes, unless the instruction takes such, or that an asynchronous
/// operation still writes.
void checkRead(Execution &execution, uint32_t index);
/// Reports a register that an asynchronous operation still uses; the lanes have a value from now on, but for those in
/// which an operand had none.
void checkWrite(Execution &execution, uint32_t index);

uint64_t specialValue(const Execution &execution, Special special, unsigned lane);
/// The address of a variable or parameter, in its own space.
uint64_t addressOf(const Execution &execution, const Operand &operand);

/// A register's value in each lane. A wider register gives its low bits.
template <typename T> Lanes<T> readRegister(Execution &execution, const Operand &operand) {
  Lanes<T> values{};
  const Register &reg = execution.registerOf(operand);
  checkRead(execution, operand.index);
  unsigned stored = storageOf(reg), size = std::min<unsigned>(stored, sizeof(T));
  const std::byte *from = execution.warp.lanes<std::byte>(reg);
  if (stored == sizeof(T))
    std::memcpy(values.data(), from, sizeof(values));
  else
    for (unsigned lane = 0; lane < warpSize; ++lane)
      std::memcpy(&values[lane], from + lane * stored, size);
  return values;
}

/// The value of a register, number or name in each lane.
template <typename T> Lanes<T> read(Execution &execution, const Operand &operand) {
  if (operand.kind == Operand::Kind::Register)
    return readRegister<T>(execution, operand);
  Lanes<T> values{};
  switch (operand.kind) {
  case Operand::Kind::Special:
    for (unsigned lane = 0; lane < warpSize; ++lane)
      values[lane] = T(specialValue(execution, operand.special, lane));
    break;
  case Operand::Kind::Variable:
  case Operand::Kind::Parameter:
    values.fill(T(addressOf(execution, operand)));
    break;
  default: {
    T value{};
    if (std::is_same_v<T, float> && operand.kind == Operand::Kind::Float64)
      value = T(std::bit_cast<double>(operand.value));
    else
      std::memcpy(&value, &operand.value, std::min(sizeof(T), sizeof(operand.value)));
    values.fill(value);
  }
  }
  return values;
}

/// Sets a register in the lanes that execute. A wider register is extended by the sign of a signed T, else by zeros.
template <typename T> void write(Execution &execution, const Operand &operand, const Lanes<T> &values) {
  if (operand.kind == Operand::Kind::Sink)
    return;
  const Register &reg = execution.registerOf(operand);
  checkWrite(execution, operand.index);
  unsigned stored = storageOf(reg);
  if (stored == sizeof(T)) {
    T *to = execution.warp.lanes<T>(reg);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = execution.lanes >> lane & 1 ? values[lane] : to[lane];
    return;
  }
  std::byte *to = execution.warp.lanes<std::byte>(reg);
  forEachLane(execution.lanes, [&](unsigned lane) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
      uint64_t extended = std::is_signed_v<T> ? uint64_t(int64_t(values[lane])) : uint64_t(values[lane]);
      std::memcpy(to + lane * stored, &extended, std::min(stored, 8u));
    } else {
      std::memcpy(to + lane * stored, &values[lane], std::min<unsigned>(stored, sizeof(T)));
    }
  });
}

/// The lanes in which a predicate is true.
LaneMask readPredicate(Execution &execution, const Operand &operand);
void writePredicate(Execution &execution, const Operand &operand, LaneMask values);

/// [base + offset] in each lane.
Lanes<uint64_t> readAddress(Execution &execution, const Operand &operand);

/// The one value that an operand has in all lanes that execute; a difference is reported.
template <typename T> T readUniform(Execution &execution, const Operand &operand) {
  Lanes<T> values = read<T>(execution, operand);
  unsigned first = unsigned(__builtin_ctz(execution.lanes));
  forEachLane(execution.lanes, [&](unsigned lane) {
    if (values[lane] != values[first])
      execution.report(FindingKind::Misuse, lane, "an operand that must be equal in all lanes is not");
  });
  return values[first];
}

} // namespace rapt::ptx
