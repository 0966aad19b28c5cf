//===- Scopes.h - Where the names of a template are -------------------------===//
#pragma once
#include "lib/Generation/Chat/Syntax.h"

namespace rapt::chat {

/// Finds the scope that each name of a template belongs to, as Jinja's compiler does before it runs one. A name that is
/// set somewhere in a scope belongs to that scope all over it, with the value from around it at the beginning if there
/// is such a name; a name that is only read belongs to the nearest scope around that has it, else to the context.
void findScopes(Syntax &syntax);

/// Whether statements read `name` before they set it.
bool readsFirst(const Node &statements, const std::string &name);

} // namespace rapt::chat
