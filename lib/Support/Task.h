//===- Task.h - Tasks of models -------------------------------------------------===//
//
// Names of tasks as docs/Semantics.md lists them. The compiler and rapt-run both end with a line that shows how to try
// a model.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <string_view>

namespace rapt {

/// Arguments of rapt-run, behind the library, that show what a model with this task does.
constexpr std::string_view exampleArguments(std::string_view task) {
  if (task == "fill-mask")
    return "-p \"Paris is the [MASK] of France.\"";
  if (task == "question-answering")
    return "--question \"Where is Paris?\" -p \"Paris is in France.\"";
  if (task.starts_with("image-"))
    return "--image photo.jpg";
  return "-p \"Once upon a time\"";
}

} // namespace rapt
