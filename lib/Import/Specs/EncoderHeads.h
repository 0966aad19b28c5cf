//===- EncoderHeads.h - Heads of encoders of texts ------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/EncoderSpec.h"

namespace rapt::importing {

/// The outputs of the head, from what the last layer gives of the tokens `ids`, [tokens, width].
llvm::SmallVector<mlir::Value> walkEncoderHead(const Walk &walk, const EncoderSpec &spec, mlir::Value x,
                                               mlir::Value ids, mlir::Value rowBegin);

/// Their names and types.
llvm::SmallVector<EntryBuffer> listEncoderOutputs(mlir::Builder builder, const EncoderSpec &spec);

/// The task of rapt-run.
std::string taskOf(EncoderHead head);

} // namespace rapt::importing
