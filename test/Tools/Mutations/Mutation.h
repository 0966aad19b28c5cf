//===- Mutation.h - Whether a fault of test/Tools/Mutations is chosen -----------===//
//
// The patches of this folder make the sources include it; the sources themselves do not.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdlib>
#include <cstring>

namespace rapt {

inline const char *const chosenMutation = std::getenv("RAPT_MUTATION");

inline bool mutated(const char *name) { return chosenMutation && std::strcmp(chosenMutation, name) == 0; }

} // namespace rapt
