//===- Passes.td - Target-neutral passes on attn ----------------------*- tablegen -*-===//
#ifndef RAPT_TRANSFORMS_PASSES_TD
#define RAPT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnTensorsToLinalg : Pass<"attn-tensors-to-linalg", "::mlir::ModuleOp"> {
  let summary = "converts arithmetic on tensors, padding and concatenation to linalg and slices";
  let description = [{
    An importer may use ops of `arith` and `math` on tensors, `tensor.pad`, `tensor.concat` and `tensor.splat` for what attn has no op for. They become
    `linalg` with scalar bodies, `linalg.fill` and `tensor.insert_slice`, by upstream's patterns, so that later passes see one form. Arithmetic on
    matrices of floats stays where it has attn's interfaces (`arith.addf`, `math.tanh`): later passes fuse and tile it as ops of attn.

    ```mlir
    func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = math.exp %x : tensor<?xf32>
      return %y : tensor<?xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) {
      ^bb0(%in: f32, %out: f32):
        %0 = math.exp %in : f32
        linalg.yield %0 : f32
      } -> tensor<?xf32>
      return %y : tensor<?xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnVerifyImported : Pass<"attn-verify-imported", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `imported`";
  let description = [{
    Importers produce the stage imported, and the reference evaluator runs it: a closed list of dialects (attn,
    func, scf.for, linalg, tensor, arith and math), weights only as `attn.parameter`, entries whose arguments and results
    have `attn.name`. Values are caches, and scalars and tensors of f32, bf16, f16, index, integers of at most 64 bits and quantized values. Ops of arith and math are those of
    dialect/Attn/ScalarOps.def. No target, schedule or layout is there; a bare kernel alone may say how its caller packs a weight. Anything else is an error that names the op.

    ```mlir
    func.func @f(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
      %y = arith.addf %x, %x : tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    attn.dim @n min 0 max 64
    ```
    stays as it is.
  }];
}

def AttnVerifyCanonical : Pass<"attn-verify-canonical", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `canonical`";
  let description = [{
    Blocks are inlined, and weights are read in entries only. Shapes are logical: no parameter, tensor, cache or weight of an op has a layout. Layouts,
    capabilities (`attn.target`), schedules, casts of activations to bf16 and tiles belong to the stages of a target. Only a
    bare kernel may say in which layout its caller packs a weight. The dialects are attn, arith, func, linalg, math, scf (`scf.for` alone) and tensor, with the types and the scalar
    ops of the stage imported; no attribute has a name or a value of another dialect.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    attn.dim @n min 0 max 64
    func.func @f(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x80xf32> {attn.name = "y", attn.dims = ["n"]}) attributes {attn.entry} {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    stays as it is.
  }];
}

def AttnRequestAttentionOutputs : Pass<"attn-request-attention-outputs", "::mlir::ModuleOp"> {
  let summary = "makes attention's probabilities and log-sum-exp outputs of the entries";
  let description = [{
    Adds to each entry of a module of the stage imported an output [tokens, layers, heads, positions] for each kind of attention that it
    has, whatever importer made it; of a kernel, to each function that becomes an entry. Layers are numbered in the order in which the entry
    computes them. An entry that takes images has them as [images, tokens, layers, heads, tokens of the largest image].

    - `attentions`: of an encoder or a decoder alone, and of kernels;
    - `encoder_attentions`, `decoder_attentions`: of an encoder-decoder;
    - `cross_attentions`: of its decoder to the source.

    The weights of keys that a sequence does not have are 0. Functions that entries call are inlined first. Attention whose queries are no
    tokens, such as a learned one for each image, is no layer in an entry that has other attention of the kind.

    With `log-sum-exp` the entries have outputs [tokens, layers, heads] of log-sum-exp: `log_sum_exp`, or `encoder_log_sum_exp`,
    `decoder_log_sum_exp` and `cross_log_sum_exp`. A kernel's only attention outside of loops gives its own, with the dims and in the order that
    its result has, where no layers or heads are chosen.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    func.func @f(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>) -> tensor<?x4x32xf32> {
      %scale = arith.constant 0.125 : f32
      %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
      return %o : tensor<?x4x32xf32>
    }
    ```
    becomes, with `heads=1,3 positions=128`,
    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    func.func @f(%q: tensor<?x4x32xf32>, %k: tensor<?x4x32xf32>) -> (tensor<?x4x32xf32>, tensor<?x1x2x128xf32> {attn.name = "attentions"}) {
      %scale = arith.constant 0.125 : f32
      %c0 = arith.constant 0 : index
      %tokens = tensor.dim %q, %c0 : tensor<?x4x32xf32>
      %w = tensor.empty(%tokens) : tensor<?x1x2x128xf32>
      %o, %new = attn.attention %q, %k, %k, %scale weights(%w[%c0] heads [1, 3] : tensor<?x1x2x128xf32>) maps [#q, #k, #v, #o]
        : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
      return %o, %new : tensor<?x4x32xf32>, tensor<?x1x2x128xf32>
    }
    ```
  }];
  let options = [
    ListOption<"layers", "layers", "int64_t", "numbers of layers; all without it">,
    ListOption<"heads", "heads", "int64_t", "numbers of query heads; all without it">,
    Option<"positions", "positions", "int64_t", /*default=*/"0", "keys of the longest sequence; those of the model without it">,
    Option<"weights", "weights", "bool", /*default=*/"true", "make the weights outputs">,
    Option<"logSumExp", "log-sum-exp", "bool", /*default=*/"false", "make log-sum-exp an output">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnFuseEpilogues : Pass<"attn-fuse-epilogues"> {
  let summary = "fuses activations, gates and residual sums into the matmul that feeds them";
  let description = [{
    `attn.activation`, `attn.glu` and arithmetic (`arith.addf`) whose operand is an `attn.linear` used only there become part of its epilogue
    region, so that a matmul's result is touched once, while it is in registers. See lib/Transforms/Fusion/README.md.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      %z = arith.addf %x, %y : tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
      %z = attn.linear %x, %w, (%x) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
      ^bb0(%sum: f32, %extra: f32):
        %0 = arith.addf %extra, %sum : f32
        attn.yield %0 : f32
      }
      return %z : tensor<?x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnInlineCalls : Pass<"attn-inline-calls", "::mlir::ModuleOp"> {
  let summary = "replaces calls by the body of the function";
  let description = [{
    Runs upstream's inliner, after a check: functions that call themselves, and calls that would expand the module to more than
    100,000 operations, are errors. A chain of functions that each call the next one twice doubles with every function.

    ```mlir
    func.func private @block(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = arith.addf %x, %x : tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = func.call @block(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = arith.addf %x, %x : tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
}

def AttnMergeMatmuls : Pass<"attn-merge-matmuls", "::mlir::ModuleOp"> {
  let summary = "merges the matmuls of one input that compute heads";
  let description = [{
    Merges `attn.linear` ops that read one input and whose results are split into heads of one width: query, key and value of self attention, key and value of cross
    attention. Their weights and biases become one parameter with the sources of all, unless another op reads one of them. Query, key and value may have different
    numbers of heads. The rotary embeddings of some heads of a matmul become one `attn.rope` of its first heads, which a target may fuse into the matmul. See lib/Transforms/Fusion/README.md.

    ```mlir
    attn.parameter @q : tensor<64x64xf32> from [#attn.source<"q">]
    attn.parameter @k : tensor<32x64xf32> from [#attn.source<"k">]
    func.func @f(%x: tensor<?x64xf32>) -> (tensor<?x2x32xf32>, tensor<?x1x32xf32>) {
      %wq = attn.parameter_slice @q : tensor<64x64xf32>
      %wk = attn.parameter_slice @k : tensor<32x64xf32>
      %0 = attn.linear %x, %wq transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      %1 = attn.linear %x, %wk transposed : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
      %q = attn.split_heads %0 : tensor<?x64xf32> -> tensor<?x2x32xf32>
      %k = attn.split_heads %1 : tensor<?x32xf32> -> tensor<?x1x32xf32>
      return %q, %k : tensor<?x2x32xf32>, tensor<?x1x32xf32>
    }
    ```
    becomes
    ```mlir
    attn.parameter @"q+k" : tensor<64x96xf32> from concat<dim = 1> [#attn.source<"q" : 64x64, transpose<1, 0>>, #attn.source<"k" : 32x64, transpose<1, 0>>]
    func.func @f(%x: tensor<?x64xf32>) -> (tensor<?x2x32xf32>, tensor<?x1x32xf32>) {
      %w = attn.parameter_slice @"q+k" : tensor<64x96xf32>
      %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
      %qk:2 = attn.split_heads %0 : tensor<?x96xf32> -> tensor<?x2x32xf32>, tensor<?x1x32xf32>
      return %qk#0, %qk#1 : tensor<?x2x32xf32>, tensor<?x1x32xf32>
    }
    ```
  }];
}

def AttnDeclareKernels : Pass<"attn-declare-kernels", "::mlir::ModuleOp"> {
  let summary = "declares the functions of a module without a model as entries";
  let description = [{
    In a module without a model, every function that nothing calls becomes an entry when none says so itself. Arguments and
    results without `attn.name` are named (`arg0`, `out`), dynamic extents without `attn.dims` too (`dim0`), and dims without an
    `attn.dim` are declared with the bounds of 32 bits. Extents that the ops force to be equal get one name, offsets of packed rows
    that of the rows and `+1`; two names for one are an error. So is a result with an extent that follows from no argument's.
    Dims of tables are at least 1. A caller gives a scalar as an array of one element (an index as i64), and truth values as bytes.

    ```mlir
    func.func @scale(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %factor: f32) -> tensor<?x64xf32> {
      %z = arith.addf %x, %y : tensor<?x64xf32>
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x64xf32>
      %factors = tensor.splat %factor[%n] : tensor<?x64xf32>
      %scaled = arith.mulf %z, %factors : tensor<?x64xf32>
      return %scaled : tensor<?x64xf32>
    }
    ```
    becomes
    ```mlir
    attn.dim @dim0 min 0 max 2147483647
    func.func @scale(%x: tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "arg0"}, %y: tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "arg1"},
                     %memory: tensor<f32> {attn.name = "arg2"}) -> (tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "out"}) attributes {attn.entry} {
      %factor = tensor.extract %memory[] : tensor<f32>
      %z = arith.addf %x, %y : tensor<?x64xf32>
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x64xf32>
      %factors = tensor.splat %factor[%n] : tensor<?x64xf32>
      %scaled = arith.mulf %z, %factors : tensor<?x64xf32>
      return %scaled : tensor<?x64xf32>
    }
    ```
  }];
  // A function without ops of attn has dims, too.
  let dependentDialects = ["::rapt::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def AttnAnnotateCosts : Pass<"attn-annotate-costs", "::mlir::ModuleOp"> {
  let summary = "numbers the ops of entries and states the cost of each";
  let description = [{
    Adds the costs of each op of a canonical entry to the entry's attribute `attn.costs`: floating-point operations of matmuls, and bytes of weights, cache and
    activations, as polynomials over the entry's dims and counts of its sequences' lengths (docs/Semantics.md, "Costs"). The attribute `attn.op` of an op is its index
    there. The parallel loops that an op becomes inherit it.

    ```mlir
    attn.dim @tokens min 1 max 64
    func.func @forward(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]}, %w: tensor<64x64xf32> {attn.name = "w"})
        -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
    becomes
    ```mlir
    attn.dim @tokens min 1 max 64
    func.func @forward(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]}, %w: tensor<64x64xf32> {attn.name = "w"})
        -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["tokens"]})
        attributes {attn.costs = {counts = [], ops = [{activations = [[16384], [512, "tokens"]], dtype = "f32", flops = [[8192, "tokens"]], op = "linear"} ]}, attn.entry} {
      %y = attn.linear %x, %w {attn.moves = [[[256, "tokens"]], [[16384]], [[256, "tokens"]]], attn.op = 0 : i64}
        : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
}

def AttnMarkTables : Pass<"attn-mark-tables", "::mlir::ModuleOp"> {
  let summary = "marks parameters of which only rows are looked up";
  let description = [{
    A parameter that nothing but look-ups of rows reads gets the attribute `attn.read_by_rows`. A step reads few bytes of such a table,
    so the runtime keeps what it has not read out of memory; the manifest tells it which tables these are. A table that a matmul reads,
    too, the tied head of a model, is not marked: all of it is read.

    ```mlir
    attn.parameter @positions : tensor<1024x64xf32> from [#attn.source<"positions">]
    attn.parameter @tied : tensor<512x64xf32> from [#attn.source<"tied">]
    func.func @forward(%ids: tensor<?xi32>, %at: tensor<?xi32>, %x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x512xf32>) {
      %positions = attn.parameter_slice @positions : tensor<1024x64xf32>
      %tied = attn.parameter_slice @tied : tensor<512x64xf32>
      %p = attn.embedding %at, %positions : tensor<?xi32>, tensor<1024x64xf32> -> tensor<?x64xf32>
      %t = attn.embedding %ids, %tied : tensor<?xi32>, tensor<512x64xf32> -> tensor<?x64xf32>
      %y = attn.linear %x, %tied transposed : tensor<?x64xf32>, tensor<512x64xf32> -> tensor<?x512xf32>
      return %p, %t, %y : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x512xf32>
    }
    ```
    becomes
    ```mlir
    attn.parameter @positions : tensor<1024x64xf32> from [#attn.source<"positions">] {attn.read_by_rows}
    attn.parameter @tied : tensor<512x64xf32> from [#attn.source<"tied">]
    func.func @forward(%ids: tensor<?xi32>, %at: tensor<?xi32>, %x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x512xf32>) {
      %positions = attn.parameter_slice @positions : tensor<1024x64xf32>
      %tied = attn.parameter_slice @tied : tensor<512x64xf32>
      %p = attn.embedding %at, %positions : tensor<?xi32>, tensor<1024x64xf32> -> tensor<?x64xf32>
      %t = attn.embedding %ids, %tied : tensor<?xi32>, tensor<512x64xf32> -> tensor<?x64xf32>
      %y = attn.linear %x, %tied transposed : tensor<?x64xf32>, tensor<512x64xf32> -> tensor<?x512xf32>
      return %p, %t, %y : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x512xf32>
    }
    ```
  }];
}

def AttnDefineArithmetic : Pass<"attn-define-arithmetic"> {
  let summary = "defines integer arithmetic where arith leaves the result undefined";
  let description = [{
    Rewrites scalar `arith` ops, in functions and in the regions of attn ops, so that they compute what docs/Semantics.md says: division
    and remainder by zero are 0, the least integer by -1 wraps, a shift by the width or more is 0, and so is a float that the integer
    type does not hold. Flags that promise something about operands (`overflow<nsw>`, `exact`, `fastmath<nnan, ninf>`) go. Ops whose
    divisor or amount is a constant that has a result stay as they are.

    ```mlir
    func.func @f(%x: i32, %y: i32) -> i32 {
      %z = arith.remsi %x, %y : i32
      return %z : i32
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: i32, %y: i32) -> i32 {
      %c0 = arith.constant 0 : i32
      %cm1 = arith.constant -1 : i32
      %0 = arith.cmpi eq, %y, %c0 : i32
      %1 = arith.cmpi eq, %y, %cm1 : i32
      %2 = arith.ori %0, %1 : i1
      %c1 = arith.constant 1 : i32
      %3 = arith.select %2, %c1, %y : i32
      %z = arith.remsi %x, %3 : i32
      return %z : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnSetTarget : Pass<"attn-set-target", "::mlir::ModuleOp"> {
  let summary = "writes the target and its capabilities into the module";
  let description = [{
    Sets `attn.target`, which later passes read through `TargetInfo`, so that each of them runs from text alone. The capabilities
    are those of lib/TargetInfo/Capabilities.def: `NAME=NUMBER`, or `NAME` for a flag.

    ```mlir
    module {
    }
    ```
    becomes, with `target=cpu capabilities=vector_bytes=64,bf16_dot`,
    ```mlir
    module attributes {attn.target = {bf16_dot, target = "cpu", vector_bytes = 64 : i64, vector_registers = 16 : i64}} {
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "", "Name of the target, as in --target">,
    ListOption<"capabilities", "capabilities", "std::string", "What the machine has beyond the defaults">
  ];
}

def AttnSetStage : Pass<"attn-set-stage", "::mlir::ModuleOp"> {
  let summary = "writes the stage the module has reached";
  let description = [{
    Sets `attn.stage`, from which raptc continues the compilation of an emitted stage.

    ```mlir
    module attributes {attn.stage = "imported"} {
    }
    ```
    becomes
    ```mlir
    module attributes {attn.stage = "canonical"} {
    }
    ```
  }];
  let options = [Option<"stage", "stage", "std::string", "\"canonical\"", "Name of the stage">];
}

def AttnSelectActivations : Pass<"attn-select-activations", "::mlir::ModuleOp"> {
  let summary = "sets the element type of activations";
  let description = [{
    Activations of f32 become the given type, in functions, loops and calls alike. Arguments and results of entries keep theirs: an
    op that can gives a result of an entry in f32, else there is an `arith.extf`. These stay f32, too: parameters and the cache, whose
    storage is another choice (`attn-select-storage`), tables of rotary embedding, states that are updated in place,
    attention's weights, and extra operands of attention. The reference evaluates the result.

    ```mlir
    func.func @f(%x: tensor<?x64xf32> {attn.name = "x"}, %w: tensor<64x64xf32> {attn.name = "w"}) -> (tensor<?x64xf32> {attn.name = "y"})
        attributes {attn.entry} {
      %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      %1 = attn.activation silu %0 : tensor<?x64xf32>
      %2 = attn.linear %1, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      return %2 : tensor<?x64xf32>
    }
    ```
    becomes, with `dtype=bf16`,
    ```mlir
    func.func @f(%x: tensor<?x64xf32> {attn.name = "x"}, %w: tensor<64x64xf32> {attn.name = "w"}) -> (tensor<?x64xf32> {attn.name = "y"})
        attributes {attn.entry} {
      %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xbf16>
      %1 = attn.activation silu %0 : tensor<?x64xbf16>
      %2 = attn.linear %1, %w : tensor<?x64xbf16>, tensor<64x64xf32> -> tensor<?x64xf32>
      return %2 : tensor<?x64xf32>
    }
    ```
  }];
  let options = [Option<"dtype", "dtype", "std::string", "\"f32\"", "f32, bf16 or f16">];
}

def AttnSelectStorage : Pass<"attn-select-storage", "::mlir::ModuleOp"> {
  let summary = "sets the storage types of weight matrices and of the cache";
  let description = [{
    Matrices are stored in the given type; the packer converts. Vectors (norms, biases) stay f32, matmuls accumulate in f32.
    The cache of keys and values is stored in `cache-dtype`; `auto` is the 16-bit type that all matrices have, and f32 where
    there is none. Two types, as `int8,bf16`, are those of keys and of values. A type given for a module without a cache is an error.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    becomes, with `dtype=bf16`,
    ```mlir
    attn.parameter @w : tensor<64x80xbf16> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xbf16>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xbf16> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
  }];
  let options = [Option<"dtype", "dtype", "std::string", "\"keep\"", "keep, f32, bf16 or f16">,
                 Option<"cacheDtype", "cache-dtype", "std::string", "\"keep\"", "keep, auto, f32, bf16, f16 or int8, or two of them for keys and values: int8,bf16">];
}

def AttnQuantizeWeights : Pass<"attn-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "quantizes matrices to 8 or 4 bits";
  let description = [{
    Weights of `attn.linear` and tables of `attn.embedding` become `!attn.quantized`; the packer quantizes them. A matmul with a quantized weight reads rows that
    `attn.quantize_rows` quantizes in the same groups, once for all matmuls of an input. Each group of `group` rows has a scale; with `w8a8` a column is one group.
    `w4` keeps tables in 8 bits, above all a table that is the output head, too. Matrices with other users keep their type, as do tables of fewer than 32
    rows.

    With `stored`, matrices that the checkpoint has in quantized blocks get the type of these, and no other is quantized. Where a matrix has a
    reader that does not sum along the blocks, it keeps the numbers that its blocks hold, as f32 or bf16. The other modes refuse such a checkpoint,
    but where its numbers are of bf16, as those of MXFP4 in directories are: these stay as they are where `stored` would keep them, and are quantized elsewhere.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    becomes, with `mode=w8`,
    ```mlir
    attn.parameter @w : tensor<64x80x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %rows = attn.quantize_rows %x : tensor<?x64xf32> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
      %w = attn.parameter_slice @w : tensor<64x80x!attn.quantized<u8 group 32 axis 0>>
      %y = attn.linear %rows, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x80x!attn.quantized<u8 group 32 axis 0>> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"w8\"", "w8a8, w8, w4, or stored: blocks of the checkpoint as they are">,
    Option<"group", "group", "int64_t", "32", "Rows of a group: 32, 64 or 128">,
    Option<"zeroPoints", "zero-points", "bool", "false", "Whether groups of w4 have a zero of their own">
  ];
}

#endif
