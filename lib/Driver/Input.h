//===- Input.h - The kinds of MODEL on the command line --------------------------*- C++ -*-===//
//
// The kind of an input is detected from its content. Either kind ends as a module
// and a reader of its tensors.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/WeightPacker.h"
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/Options.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace rapt::driver {

/// A GGUF file is what a Hugging Face directory is, in one file.
enum class InputKind { HuggingFace, GGUF, MLIR };

/// Reads the standard input, for the input "-", or a FIFO. Text of the standard input is called <stdin> from then on.
Status takeStream(Options &options);

/// Errors name the path, what it is, and what raptc takes.
Expected<InputKind> detectInput(const Options &options);

struct Input {
  InputKind kind = InputKind::HuggingFace;
  std::string name; ///< of the output, when -o names none
  std::optional<huggingface::ModelDescription> model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::shared_ptr<const Source> source;    ///< of text
  std::vector<artifact::Section> sections; ///< the model's side files, for the weight file
};

/// Reads the model or the text. Warnings go to the context's handler, `diagnostics`, which learns the text.
Expected<Input> readInput(mlir::MLIRContext &context, Diagnostics &diagnostics, const Options &options);

} // namespace rapt::driver
