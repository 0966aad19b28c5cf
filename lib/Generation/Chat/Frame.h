//===- Frame.h - Names, macros and loops while a template runs --------------===//
#pragma once
#include "lib/Generation/Chat/Syntax.h"
#include "lib/Generation/Chat/Value.h"
#include <memory>
#include <optional>

namespace rapt::chat {

/// The variables of one scope; undefined where a name is not set.
struct Frame {
  std::shared_ptr<Frame> outer;
  List slots;
  bool isKept = false; ///< A macro sees it: it lives as long as the run.
};

/// A macro, or what is inside of a 'call' tag.
struct Macro {
  const Node *definition;
  std::shared_ptr<Frame> frame; ///< The names around its definition.
  bool escapes;                 ///< Whether {% autoescape %} is on around its definition.
};

/// The variable "loop".
struct Loop {
  List items;
  int64_t index = 0;
  int depth = 0;                     ///< Loops of the same tag around it.
  const Node *recursive = nullptr;   ///< The tag of a loop that can be called.
  std::shared_ptr<Frame> outer = {}; ///< The names around it.
  std::optional<Value> changed = {}; ///< The arguments that changed() was given last.
};

} // namespace rapt::chat
