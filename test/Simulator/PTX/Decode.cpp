//===- Decode.cpp - The meaning of an opcode ---------------------------------===//
#include "test/Simulator/PTX/Decode.h"
#include <algorithm>
using namespace rapt;
using namespace rapt::ptx;

namespace {

constexpr Decoder decoders[] = {decodeIntegers, decodeFloats,    decodeLogic,  decodeComparisons, decodeConversions,
                                decodeControl,  decodeMoves,     decodeMemory, decodeAtomics,     decodeWarp,
                                decodeBarriers, decodeMbarriers, decodeCopies, decodeBulkCopies,  decodeMatrices,
                                decodeMma,      decodeWgmma};

bool isName(const Operand &operand) {
  return operand.kind == Operand::Kind::Variable || operand.kind == Operand::Kind::Parameter;
}

} // namespace

Suffixes::Suffixes(std::string_view opcode) {
  for (size_t begin = 0; begin <= opcode.size();) {
    size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool Suffixes::take(std::string_view name) {
  if (isDone() || parts[next] != name)
    return false;
  ++next;
  return true;
}

Type Suffixes::takeType() {
  std::optional<Type> type = isDone() ? std::nullopt : parseType(parts[next]);
  next += type.has_value();
  return type.value_or(Type::None);
}

Space Suffixes::takeSpace() {
  for (Space space : {Space::Global, Space::Shared, Space::Local, Space::Param, Space::Const})
    if (take(nameOf(space)))
      return space;
  if (take("shared::cta") || take("shared::cluster"))
    return Space::Shared;
  if (take("param::entry"))
    return Space::Param;
  return Space::Generic;
}

std::optional<std::string_view> Suffixes::takeRest(std::string_view prefix) {
  if (isDone() || !parts[next].starts_with(prefix))
    return std::nullopt;
  return parts[next++].substr(prefix.size());
}

std::optional<size_t> Suffixes::takeOneOf(std::initializer_list<std::string_view> names) {
  size_t place = 0;
  for (std::string_view name : names) {
    if (take(name))
      return place;
    ++place;
  }
  return std::nullopt;
}

Status rapt::ptx::decode(const Kernel &kernel, Instruction &instruction) {
  for (Decoder decoder : decoders) {
    Instruction decoded = instruction;
    Suffixes suffixes(instruction.opcode);
    if (!decoder(kernel, suffixes, decoded) || !suffixes.isDone() || !decoded.execute)
      continue;
    if (std::ranges::any_of(instruction.operands, isName) && suffixes.root() != "mov")
      return Error{"takes no variable as an operand; mov gives its address"};
    instruction = std::move(decoded);
    // LLVM computes with what it has left undefined, and selects another value then.
    constexpr std::string_view computing[] = {"abs",  "add", "and", "bfe",  "bfi", "cvt", "div",  "ex2", "fma",
                                              "lg2",  "mad", "max", "min",  "mov", "mul", "neg",  "not", "or",
                                              "prmt", "rcp", "rem", "selp", "shl", "shr", "sqrt", "sub", "xor"};
    instruction.takesUndefined = std::ranges::find(computing, suffixes.root()) != std::end(computing);
    return {};
  }
  return Error{"is not known to the simulator"};
}
