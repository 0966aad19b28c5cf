//===- AttnDialect.td - The attention dialect ------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_DIALECT_TD
#define RAPT_ATTN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::rapt::attn";
  let summary = "Attention models: what is computed, never how.";
  let description = [{
    The ops of transformers, vision transformers and recurrent models with attention. One imported program has one `func` per
    distinct block, a loop over stacked parameters, and entries whose arguments carry `attn.name`.

    Activations are row-major tensors; the tokens of all sequences of a step are packed in one dynamic dim. Weights are
    `attn.parameter` symbols: their bytes never enter the IR.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    /// Module attribute: the stage the module is at ("imported", "canonical", "tiled", "backend").
    static constexpr ::llvm::StringLiteral stageAttr = "attn.stage";
    /// Module attribute: the facts of the model that travel into the manifest (a dictionary).
    static constexpr ::llvm::StringLiteral modelAttr = "attn.model";
    /// Module attribute: the target description that passes ask (a dictionary; see lib/TargetInfo).
    static constexpr ::llvm::StringLiteral targetAttr = "attn.target";
    /// Function attribute: the function is an entry of the artifact.
    static constexpr ::llvm::StringLiteral entryAttr = "attn.entry";
    /// Function attribute of lowered entries: name, kind, type and dims of each buffer, in order.
    static constexpr ::llvm::StringLiteral buffersAttr = "attn.buffers";
    /// Argument and result attribute of entries: the buffer's name.
    static constexpr ::llvm::StringLiteral nameAttr = "attn.name";
    /// Argument and result attribute of entries: an array with the name of the `attn.dim` of each dynamic dim. A
    /// lowered kernel has the names in its array of dims.
    static constexpr ::llvm::StringLiteral dimsAttr = "attn.dims";
    /// Argument attribute of entries: integers of the buffer must be at least 0 and less than this.
    static constexpr ::llvm::StringLiteral limitAttr = "attn.limit";
    /// Argument attribute of entries: a caller may leave the buffer out, which means zeros.
    static constexpr ::llvm::StringLiteral optionalAttr = "attn.optional";
    /// Argument attribute of entries from the stage laid-out on: the type of a cache that is a tensor of bytes there.
    static constexpr ::llvm::StringLiteral cacheAttr = "attn.cache";
    /// Module attribute: what tells caches whose keys have another order of channels from others, as part of the name of
    /// their layout.
    static constexpr ::llvm::StringLiteral cacheOrderAttr = "attn.cache_order";
    /// Function attribute of entries from the stage tiled on: what each of its ops costs (lib/Analysis/Cost.h).
    static constexpr ::llvm::StringLiteral costsAttr = "attn.costs";
    /// Attribute of an op, and of the parallel loops that it becomes: its index in "ops" of the entry's costs.
    static constexpr ::llvm::StringLiteral opAttr = "attn.op";
    /// Attribute of an op that has a number, until its target has decided which ops one dispatch computes: bytes of
    /// activations that it moves, a polynomial per operand and result (lib/Analysis/Cost.h).
    static constexpr ::llvm::StringLiteral movesAttr = "attn.moves";
    /// The number of an `attn_host.parallel_for`, an i64, -1 for none. A function has the `attn.op` of each number.
    static constexpr ::llvm::StringLiteral dispatchAttr = "attn.dispatch";
    /// Attribute of an op or module from the stage laid-out on: how the target's code does it (Attn_ScheduleInterface).
    static constexpr ::llvm::StringLiteral scheduleAttr = "attn.schedule";
    /// On attention with the probabilities of another one before it, which mixes other values: outputs of attention have
    /// them once.
    static constexpr ::llvm::StringLiteral repeatedAttr = "attn.repeated";
    /// On a function of the stage backend or later: LLVM vectorizes its loops, which are over scalars.
    static constexpr ::llvm::StringLiteral scalarLoopsAttr = "attn.scalar_loops";

  private:
    void registerTypes();
    void registerAttributes();

  public:
  }];
}

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

#endif
