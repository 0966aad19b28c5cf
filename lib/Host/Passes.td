//===- Passes.td - The host program of every target -------------------*- tablegen -*-===//
#ifndef RAPT_HOST_PASSES_TD
#define RAPT_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnVerifyBackend : Pass<"attn-verify-backend", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `backend`";
  let description = [{
    No tensor, no allocation and no copy of a buffer is left: entries work in the caller's memory and one workspace. Each `scf.forall` is a
    task of `attn.parallel_for`. The dialects are affine, arith, func, llvm, math, memref, scf, ub and vector, those of the target (`dialects`),
    and of attn declarations and `attn.parallel_for`.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let options = [ListOption<"dialects", "dialects", "std::string", "Dialects of the target's instructions">];
}

def AttnVerifyLLVMDialect : Pass<"attn-verify-llvm-dialect", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `llvm-dialect`";
  let description = [{
    Only the llvm dialect is left, and declarations of weights and dims, from which the manifest is written. Every function of an entry (`attn.entry`) has its
    buffers (`attn.buffers`).
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

def AttnOutlineParallel : Pass<"attn-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "bufferized parallel loops of entries become tasks";
  let description = [{
    Each outermost `scf.forall` of an entry becomes a private function `(captures, begin, end, worker)` that runs a range of the flattened
    grid, and an `attn.parallel_for` that calls it through the executor. In a model's entry with `attn.costs` the calls are numbered, and
    its attribute `attn.region` tells the op of each. Constants are copied into the task. Loops whose
    tasks would be equal, matmuls of one shape above all, share the first.

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

def AttnExpandMath : Pass<"attn-expand-math"> {
  let summary = "exp, exp2, tanh, erf, sin, cos and log become polynomials";
  let description = [{
    f32 `math.exp`, `math.exp2`, `math.tanh`, `math.erf`, `math.sin`, `math.cos` and `math.log`, scalar or vector, become polynomials (LLVM would call libm once per
    element). Errors, measured over all arguments where the result is normal: exp, exp2, sin, cos and log at most 2 ulp, tanh and erf at most 4 ulp.
    Infinities, NaN and underflow to zero are as in libm; exp and exp2 flush results below 2^-126 to zero. sin and cos hold for |x| <= 2^20 and give NaN
    beyond; `attn.rotary_table` takes whole turns off before. Conversions to and from bf16 become shifts and sums of integers. exp2 of what is not above zero (`nonpositive`) takes
    11 instructions; its error is at most 4 ulp, and what would be below 2^-126 is something below it. One that is `rounded`, to bf16, has a
    polynomial of four terms, whose relative error is 7.5e-5.

    ```mlir
    func.func @e(%x: vector<16xf32>) -> vector<16xf32> {
      %0 = math.exp2 %x : vector<16xf32>
      return %0 : vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnToLLVM : Pass<"attn-to-llvm", "::mlir::ModuleOp"> {
  let summary = "everything becomes the llvm dialect";
  let description = [{
    The last conversion: bufferized code of vectors, memrefs and control flow, and `attn.parallel_for`, which becomes a closure on
    the stack and a call of the executor in `rapt_env`; a non-zero answer returns from the entry at once. Dialects of a target's instructions (`dialects`) convert themselves. Vectors of bf16 are loaded and stored as integers.

    ```mlir
    func.func @f(%x: memref<4xf32>, %i: index) -> f32 {
      %0 = memref.load %x[%i] : memref<4xf32>
      return %0 : f32
    }
    ```
  }];
  let options = [ListOption<"dialects", "dialects", "std::string", "Dialects of the target's instructions">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect"];
}

def AttnEmitEntries : Pass<"attn-emit-entries", "::mlir::ModuleOp"> {
  let summary = "gives entries the signature of artifact.h";
  let description = [{
    For every entry, an exported function `(env, buffers, dims) -> status` (`rapt_entry_fn` in lib/Runtime/include/rapt/artifact.h) that reads
    buffers and dims in the manifest's order and calls the compiled function, and one of type `rapt_workspace_fn`. All other functions become local. In a
    module without `attn.model`, entries are bare kernels: `NAME(env, inputs..., outputs..., dims, scratch)` and `NAME_scratch(dims, workers)`.
    Runs on the llvm dialect.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
