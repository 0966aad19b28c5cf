//===- Passes.td - Passes on the attn dialect and the stages below -----*- tablegen -*-===//
#ifndef RAPT_TRANSFORMS_PASSES_TD
#define RAPT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnVerifyImported : Pass<"attn-verify-imported", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `imported`";
  let description = [{
    The imported stage is what importers produce and what the reference evaluator runs: a closed list of dialects (attn,
    func, scf.for, tensor.dim and tensor.empty, scalar arith and math), weights only as `attn.parameter`, entries whose arguments and results
    carry `attn.name`. Anything else is an error that names the op.
  }];
}

def AttnVerifyCanonical : Pass<"attn-verify-canonical", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `canonical`";
  let description = [{
    Every parameter has its layout and place in the weight file, blocks are inlined, and the cache is the tensor of its blocks.
  }];
}

def AttnVerifyTiled : Pass<"attn-verify-tiled", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `tiled`";
  let description = [{
    No attn op is left but declarations, parameter slices, `attn.attention_state`, `attn.attention_merge`,
    `attn.paired_product` and `attn.quantized_product`,
    and no tensor has an encoding or quantized elements.
  }];
}

def AttnVerifyBackend : Pass<"attn-verify-backend", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `backend`";
  let description = [{
    No tensor, no allocation and no copy of a buffer is left: entries work in the caller's memory and one workspace.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def AttnFuseEpilogues : Pass<"attn-fuse-epilogues"> {
  let summary = "takes activations, gates and residual sums into the product that feeds them";
  let description = [{
    `attn.activation`, `attn.glu` and `attn.add` whose operand is an `attn.linear` used only there become part of its epilogue
    region, so that a product's result is touched once, while it is in registers. See lib/Transforms/Fusion/README.md.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      %z = attn.add %x, %y : tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    ```
    becomes one `attn.linear %x, %w, (%x)` whose epilogue adds.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnInlineCalls : Pass<"attn-inline-calls", "::mlir::ModuleOp"> {
  let summary = "replaces calls by the body of the function";
  let description = [{
    Runs upstream's inliner, after a check: functions that call themselves, and calls that would expand the module to more than
    100,000 operations, are errors. A chain of functions that each call the next one twice doubles with every function.

    ```mlir
    func.func private @block(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = attn.add %x, %x : tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = func.call @block(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
    becomes one `attn.add` in `@f`.
  }];
}

def AttnMergeProducts : Pass<"attn-merge-products", "::mlir::ModuleOp"> {
  let summary = "makes the products of one input that give heads one product";
  let description = [{
    `attn.linear` ops that read one input, and whose results are cut into heads of one width, become one: query, key and value
    of self attention, key and value of cross attention. Their weights and biases become one parameter with the sources of all, where
    nothing reads them apart. Grouped queries are heads of another number. Rotary embedding of the heads of a product then
    becomes one `attn.rope` of the first of all its heads, which the product's tasks do. Runs after blocks are inlined. See lib/Transforms/Fusion/README.md.

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
    becomes one `attn.linear` with `@"q+k" : tensor<64x96xf32> from [#attn.source<"q", transpose = true>, #attn.source<"k", transpose = true>]`.
  }];
}

def AttnDeclareKernels : Pass<"attn-declare-kernels", "::mlir::ModuleOp"> {
  let summary = "makes entries of the functions of text without a model";
  let description = [{
    In a module without a model, every function that nothing calls becomes an entry when none says so itself. Arguments and
    results without `attn.name` are named (`arg0`, `out`), dynamic extents without `attn.dims` too (`dim0`), and dims without an
    `attn.dim` are declared with the bounds of 32 bits. Extents that the ops force to be equal get one name, offsets of packed rows
    that of the rows and `+1`; two names for one are an error. So is a result with an extent that follows from no argument's.

    ```mlir
    func.func @add(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %z = attn.add %x, %y : tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    ```
    becomes an entry of `arg0`, `arg1` and `out`, with the one dim `dim0`.
  }];
  let dependentDialects = ["::rapt::attn::AttnDialect"]; // a function without ops of it has dims, too
}

def AttnPadKernels : Pass<"attn-pad-kernels", "::mlir::ModuleOp"> {
  let summary = "copies a kernel's operands whose columns fill no panel";
  let description = [{
    In a module without a model and parameters, ops that work on panels of 32 columns get operands padded with zeros, and users
    get the part of their results that counts. Weights that are transposed or fill no panel become panels. Where columns are
    multiples of 32 nothing changes.

    ```mlir
    func.func @norm(%x: tensor<?x33xf32>, %w: tensor<33xf32>) -> tensor<?x33xf32> {
      %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x33xf32>, tensor<33xf32>
      return %y : tensor<?x33xf32>
    }
    ```
    Here the norm works on 64 columns of which 33 count.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnMaterializeLayouts : Pass<"attn-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "decides where parameters lie in the weight file and pads shapes to panels of 32";
  let description = [{
    Each `attn.parameter` gets a layout that fits its uses (panels for products, rows for tables and vectors), an offset and a
    stride; its type becomes the physical one. Activations, and a model's states (arguments that are results as well), are padded to
    multiples of 32 columns, each part of a recurrence's gates for itself, heads to multiples of
    32 channels; normalizations learn how many columns count; `!attn.kv_cache` becomes the tensor of its blocks. The
    padding is zero throughout. Runs after the blocks are inlined.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    Weights of products in bf16 lie in pairs of rows, on every target. Here `@w` becomes `tensor<3x64x32xf32>` with `layout = #attn.layout<panels, shape = [64, 80], column_group = 0, row_group = 0, k = 1>` at offset 0.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def AttnRoundRows : Pass<"attn-round-rows", "::mlir::ModuleOp"> {
  let summary = "rounds what products of bf16 read, for targets that multiply pairs";
  let description = [{
    Where the target has instructions on pairs of bf16 (`bf16_dot`, `amx_bf16`), the input of every `attn.linear` whose weight is in
    panels of pairs goes through `attn.round_rows`, once for all products that read it, which the tasks of the op that makes the rows do where they
    can (remarks of the category fusion tell). Elsewhere nothing changes: weights are
    widened, and inputs stay f32. Runs after layouts are materialized.

    ```mlir
    module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
        %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
  }];
}

def AttnPairAttention : Pass<"attn-pair-attention", "::mlir::ModuleOp"> {
  let summary = "attention multiplies pairs of bf16, for targets that do";
  let description = [{
    Where the target has instructions on pairs of bf16 (`bf16_dot`, `amx_bf16`), `attn.attention` becomes `paired` if its keys are stored in
    bf16, or if they are not in a cache and all weights that products of the program read are in panels of pairs. An additive
    similarity is no product, and stays as it is. Elsewhere nothing changes. Runs after layouts are materialized.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xbf16>, %v: tensor<?x12x64xbf16>) -> tensor<?x12x64xf32> {
        %scale = arith.constant 0.125 : f32
        %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o]
          : tensor<?x12x64xf32>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
        return %o : tensor<?x12x64xf32>
      }
    }
    ```
  }];
}

def AttnLowerEntries : Pass<"attn-lower-entries", "::mlir::ModuleOp"> {
  let summary = "entries take the caller's memory and return a status";
  let description = [{
    An entry `(tensors) -> tensors` becomes `(env, weights, workspace, memrefs of inputs, memrefs of outputs) -> i32`. A result with
    the name of an argument is that argument, updated in place. `attn.parameter_slice` becomes a view of the weights at the
    parameter's offset. Weights and inputs are read-only. An output that loops make in an empty tensor is made in the
    caller's memory.

    ```mlir
    attn.dim @n min 0 max 64
    func.func @f(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?xf32> {attn.name = "y", attn.dims = ["n"]})
        attributes {attn.entry} {
      return %x : tensor<?xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

def AttnAnnotateCosts : Pass<"attn-annotate-costs", "::mlir::ModuleOp"> {
  let summary = "numbers the ops of entries and says what each costs";
  let description = [{
    Of every op of a canonical entry: floating-point operations of products, bytes of weights, cache and activations, as sums of
    products of the entry's dims and of counts of its rows' lengths (docs/Semantics.md, "Costs"). They stand in the entry's
    attribute `attn.costs`; an op's place there is its attribute `attn.op`, which the parallel loops that it becomes take over.

    ```mlir
    attn.dim @tokens min 1 max 64
    func.func @forward(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["tokens"]}, %w: tensor<2x64x32xf32> {attn.name = "w"})
        -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
    gives `flops = [[8192, "tokens"]]`.
  }];
}

def AttnOutlineParallel : Pass<"attn-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "bufferized parallel loops of entries become tasks";
  let description = [{
    Each outermost `scf.forall` of an entry becomes a private function `(captures, begin, end, worker)` that runs a range of the flattened
    grid, and an `attn.parallel_for` that calls it through the executor. In a model's entry with `attn.costs` the calls are numbered, and
    its attribute `attn.region` tells the op of each. Constants are copied into the task. Loops whose
    tasks would be equal, products of one shape above all, share the first.

    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
      %f0 = arith.constant 0.0 : f32
      scf.forall (%i) in (%n) {
        memref.store %f0, %x[%i] : memref<?xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect"];
}

def AttnPlanMemory : Pass<"attn-plan-memory", "::mlir::ModuleOp"> {
  let summary = "allocations become places in one workspace";
  let description = [{
    Runs after outlining. Allocations move out of loops; an entry's become views of its workspace
    argument. Buffers with the same dynamic extents are proportional to each other, so their places follow from a static best fit by size and
    life; groups with different extents lie one after another. A task's become `memref.alloca` up to 16 KiB in
    all, else views of its worker's slice of the workspace. A function `ENTRY.workspace(dims..., workers) -> bytes` is added. An allocation
    that depends on a loop is an error.

    ```mlir
    attn.dim @n min 0 max 64
    func.func @f(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>, %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32
        attributes {attn.entry} {
      %c0 = arith.constant 0 : index
      %s = arith.constant 0 : i32
      %n = memref.dim %x, %c0 : memref<?xf32>
      %t = memref.alloc(%n) : memref<?xf32>
      memref.copy %x, %t : memref<?xf32> to memref<?xf32>
      return %s : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def AttnLowerCopies : Pass<"attn-lower-copies"> {
  let summary = "memref.copy becomes loops";
  let description = [{
    What copies bufferization left become loops over vectors of 32 elements where rows are whole panels, which fetch long rows ahead, and over
    elements elsewhere; a copy of a buffer onto itself goes away. LLVM's own lowering of a strided copy would call a function of MLIR's runner library.

    ```mlir
    func.func @f(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
      memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnDefineArithmetic : Pass<"attn-define-arithmetic"> {
  let summary = "gives integer arithmetic a result where arith leaves it undefined";
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
    becomes a remainder of %x by 1 where %y is 0 or -1, and by %y elsewhere.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnSetTarget : Pass<"attn-set-target", "::mlir::ModuleOp"> {
  let summary = "writes the target's capabilities into the module";
  let description = [{
    Sets `attn.target`, which later passes read through `TargetInfo`, so that each of them runs from text alone.

    ```mlir
    module {
    }
    ```
    With `vector-bytes=64 vector-registers=32`: `module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}}`.
  }];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "32", "Bytes of the widest vector register that is fast">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16", "Number of vector registers">,
    Option<"byteDot", "byte-dot", "bool", "false", "Whether an instruction sums four products of bytes in 32 bits">,
    Option<"bf16Dot", "bf16-dot", "bool", "false", "Whether an instruction sums two products of bf16 in f32, faster than f32's multiply-adds">,
    Option<"amxBf16", "amx-bf16", "bool", "false", "Whether instructions multiply tiles of pairs of bf16">,
    Option<"bf16Round", "bf16-round", "bool", "false", "Whether an instruction rounds two vectors of f32 to one of bf16">,
    Option<"powerScale", "power-scale", "bool", "false", "Whether an instruction takes what is behind a number's point, and one multiplies by a power of two">,
    Option<"amxInt8", "amx-int8", "bool", "false", "Whether instructions multiply tiles of fours of bytes">,
    Option<"emulated", "emulated", "bool", "false", "Whether vector code takes the place of bf16-dot, amx-bf16 and amx-int8">
  ];
}

def AttnSetStage : Pass<"attn-set-stage", "::mlir::ModuleOp"> {
  let summary = "writes the stage the module has reached";
  let description = [{
    Sets `attn.stage`, from which compilation of an emitted stage goes on.

    ```mlir
    module attributes {attn.stage = "imported"} {
    }
    ```
  }];
  let options = [Option<"stage", "stage", "std::string", "\"canonical\"", "Name of the stage">];
}

def AttnSelectStorage : Pass<"attn-select-storage", "::mlir::ModuleOp"> {
  let summary = "sets the storage types of weight matrices and of the cache";
  let description = [{
    Matrices are stored in the given type; the packer converts. Vectors (norms, biases) stay f32, products sum in f32.
    The cache of keys and values is stored in `cache-dtype`; `auto` is the 16-bit type that all matrices have, and f32 where
    there is none. A type given for a module without a cache is an error.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    With `dtype=bf16` the parameter is `tensor<64x80xbf16>`.
  }];
  let options = [Option<"dtype", "dtype", "std::string", "\"keep\"", "keep, f32, bf16 or f16">,
                 Option<"cacheDtype", "cache-dtype", "std::string", "\"keep\"", "keep, auto, f32, bf16, f16 or int8">];
}

def AttnQuantizeWeights : Pass<"attn-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "makes matrices integers with scales";
  let description = [{
    Weights of `attn.linear` and tables of `attn.embedding` become `!attn.quantized`; the packer rounds them. Products with
    such a weight take rows that `attn.quantize_rows` rounded in the same groups, once for all that read an input. Groups of
    `group` rows have a scale each, with `w8a8` all rows of a column one. `w4` keeps tables in 8 bits, above all the one that
    is the head as well. Matrices with other users keep their type, as do tables of fewer rows than a panel. Runs after blocks are
    inlined.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    With `mode=w8` the parameter is `tensor<64x80x!attn.quantized<u8 group 32 axis 0>>`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"w8\"", "w8a8, w8 or w4">,
    Option<"group", "group", "int64_t", "32", "Rows of a group: 32, 64 or 128">,
    Option<"zeroPoints", "zero-points", "bool", "false", "Whether groups of w4 have a zero of their own">
  ];
}

#endif
