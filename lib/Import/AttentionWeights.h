//===- AttentionWeights.h - Attention's weights as outputs of the entries -*- C++ -*-===//
//
// Attention never holds its weights: memory is linear in the length. Who wants to
// look at them asks for layers and heads, and the entries of the imported module
// get one more output. It works on any family's module, whatever blocks it is of.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Import.h"

namespace rapt::importing {

/// Adds to each entry an output [tokens, layers, heads, positions] for each kind of attention that it has; where it
/// takes images [images, tokens, layers, heads, tokens of the largest image]:
///
///   attentions                                of an encoder or a decoder alone
///   encoder_attentions, decoder_attentions    of an encoder-decoder
///   cross_attentions                          of its decoder to the source
///
/// The weights of keys that a row does not have are 0. Errors: a layer or head that the model does not have, more
/// positions than can be looked at, a model without attention over tokens.
Status addAttentionOutputs(mlir::ModuleOp module, const AttentionSelection &selection);

} // namespace rapt::importing
