//===- EncoderHeads.h - Heads of encoders of texts ------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/EncoderSpec.h"

namespace rapt::importing {

/// The weights of the head, and of the pooler; `prefix` is that of the transformer's names.
void addEncoderHead(ParameterSet &parameters, const EncoderSpec &spec, const std::string &prefix);

/// The outputs of the head, from what the last layer gives of the tokens `ids`, [tokens, width].
llvm::SmallVector<mlir::Value> buildEncoderHead(const Scope &top, const EncoderSpec &spec, mlir::Value x,
                                                mlir::Value ids, mlir::Value rowBegin);

/// Their names and types.
llvm::SmallVector<EntryBuffer> listEncoderOutputs(mlir::Builder builder, const EncoderSpec &spec);

/// The task of rapt-run.
std::string taskOf(EncoderHead head);

} // namespace rapt::importing
