//===- Parser.h - PTX text to a module ---------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "test/Simulator/PTX/Module.h"

namespace rapt::ptx {

/// Parses a module and resolves its names. Errors name the line; an instruction that the simulator does not know is
/// one.
Expected<Module> parse(std::string_view text);

} // namespace rapt::ptx
