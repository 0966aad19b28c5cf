//===- Operands.h - Numbers and special registers of PTX text --------------===//
#pragma once
#include "test/Simulator/PTX/Module.h"

namespace rapt::ptx {

/// A whole number in PTX's notation: decimal, 0x, 0b or octal, with or without U.
std::optional<uint64_t> parseInteger(std::string_view text);

/// Fills an operand from a number: an integer, 0f or 0d with the bits in hexadecimal, or a decimal fraction (f64).
bool parseLiteral(std::string_view text, bool isNegative, Operand &operand);

/// The special register of that name, such as "%tid.x".
std::optional<Special> parseSpecial(std::string_view name);

} // namespace rapt::ptx
