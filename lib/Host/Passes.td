//===- Passes.td - The host program of every target -------------------*- tablegen -*-===//
#ifndef RAPT_HOST_PASSES_TD
#define RAPT_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnVerifyBackend : Pass<"attn-verify-backend", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `backend`";
  let description = [{
    No tensor, no allocation and no copy of a buffer remains: entries work in the caller's memory and one workspace, and buffers on the stack have static shapes. Each parallel
    loop is a dispatch (`attn_host.parallel_for`). The dialects are affine, arith, func, llvm, math, memref, scf, ub and vector, those of the target (`dialects`),
    and of attn declarations and `attn_host.parallel_for`.

    ```mlir
    func.func @f(%x: memref<8xf32>, %i: index) -> f32 {
      %0 = memref.load %x[%i] : memref<8xf32>
      return %0 : f32
    }
    ```
    stays as it is.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let options = [ListOption<"dialects", "dialects", "std::string", "Dialects of the target's instructions">];
}

def AttnVerifyLLVMDialect : Pass<"attn-verify-llvm-dialect", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `llvm-dialect`";
  let description = [{
    Only the llvm dialect remains, without casts that a conversion has left, and declarations of weights and dims, from which the manifest is written. Every function of an entry (`attn.entry`) has its
    buffers (`attn.buffers`).

    ```mlir
    llvm.func @f(%x: !llvm.ptr) -> f32 {
      %0 = llvm.load %x : !llvm.ptr -> f32
      llvm.return %0 : f32
    }
    ```
    stays as it is.
  }];
  let options = [ListOption<"dialects", "dialects", "std::string", "Dialects of device code">];
}

def AttnLowerEntries : Pass<"attn-lower-entries", "::mlir::ModuleOp"> {
  let summary = "entries take the caller's memory and return a status";
  let description = [{
    An entry `(tensors) -> tensors` becomes `(env, weights, workspace, memrefs of inputs, memrefs of outputs) -> i32`. A result with
    the name of an argument updates that argument in place. `attn.parameter_slice` becomes a view of the weights at the
    parameter's offset. Weights and inputs are read-only. Loops that fill an empty tensor for an output write to the caller's memory instead.
    A result is stored before another one overwrites the argument that it reads, or is copied first.

    ```mlir
    attn.dim @n min 0 max 64
    func.func @f(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?xf32> {attn.name = "y", attn.dims = ["n"]})
        attributes {attn.entry} {
      return %x : tensor<?xf32>
    }
    ```
    becomes
    ```mlir
    attn.dim @n min 0 max 64
    func.func @f(%env: !llvm.ptr {attn.name = "env"}, %weights: memref<?xi8> {attn.name = "weights"}, %workspace: memref<?xi8> {attn.name = "workspace"},
                 %x: memref<?xf32> {attn.dims = ["n"], attn.name = "x"}, %y: memref<?xf32> {attn.dims = ["n"], attn.name = "y"}) -> i32
        attributes {attn.entry, attn.buffers = [
          {attn.name = "weights", kind = "weights", type = memref<?xi8>}, {attn.name = "workspace", kind = "workspace", type = memref<?xi8>},
          {attn.dims = ["n"], attn.name = "x", kind = "input", type = memref<?xf32>}, {attn.dims = ["n"], attn.name = "y", kind = "output", type = memref<?xf32>} ]} {
      %0 = bufferization.to_tensor %x restrict : memref<?xf32> to tensor<?xf32>
      bufferization.materialize_in_destination %0 in restrict writable %y : (tensor<?xf32>, memref<?xf32>) -> ()
      %c0 = arith.constant 0 : i32
      return %c0 : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

def AttnHostCodeToTasks : Pass<"attn-host-code-to-tasks", "::mlir::ModuleOp"> {
  let summary = "host code that touches buffers becomes parallel loops of one iteration";
  let description = [{
    For targets whose buffers are in the memory of a device, which the host program cannot touch: ops of an entry outside of `scf.forall` that read or write buffers
    become the body of one that runs once. A loop of the host program stays if it holds a grid. An element of an array that nothing writes to,
    and what is computed from it, is copied into the tasks that use it. Another value that the host program reads from a buffer is an error.

    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<8xi32>, %n: index) attributes {attn.entry} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      scf.for %i = %c0 to %n step %c1 {
        memref.store %zero, %x[%i] : memref<8xi32>
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<8xi32>, %n: index) attributes {attn.entry} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      scf.forall (%task) in (1) {
        scf.for %i = %c0 to %n step %c1 {
          memref.store %zero, %x[%i] : memref<8xi32>
        }
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def AttnOutlineParallel : Pass<"attn-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "outlines bufferized parallel loops of entries as tasks";
  let description = [{
    Each outermost `scf.forall` of an entry becomes a private function `(captures, begin, end, worker)` that runs a range of the flattened
    grid, and an `attn_host.parallel_for` that calls it through the executor. In a model's entry with `attn.costs` dispatches are numbered, and
    the entry's attribute `attn.dispatch` tells the op of each number. Constants are copied into the task. Loops with equal tasks, above all matmuls of one shape,
    share one task.

    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
      %f0 = arith.constant 0.0 : f32
      scf.forall (%i) in (%n) {
        memref.store %f0, %x[%i] : memref<?xf32>
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
      attn_host.parallel_for @f.task0(%x, %n) count %n env %env : (memref<?xf32>, index), !llvm.ptr
      return
    }
    func.func private @f.task0(%x: memref<?xf32>, %n: index, %begin: index, %end: index, %worker: index) {
      %f0 = arith.constant 0.0 : f32
      %c1 = arith.constant 1 : index
      scf.for %i = %begin to %end step %c1 {
        memref.store %f0, %x[%i] : memref<?xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect",
                           "::rapt::attn_host::AttnHostDialect"];
}

def AttnPlanMemory : Pass<"attn-plan-memory", "::mlir::ModuleOp"> {
  let summary = "plans allocations as offsets of one workspace";
  let description = [{
    Allocations move out of loops. Those of an entry become views of its workspace argument. Buffers with the same dynamic
    extents are proportional to each other, so a static best fit by size and live range gives their offsets; groups with different extents follow one another.
    Scratch buffers of a task become `memref.alloca` up to `stack` bytes in total, else views of its worker's slice of the workspace. The function
    `ENTRY.workspace(dims..., workers) -> bytes` is added. An allocation whose size depends on a loop is an error.

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
    becomes
    ```
    func.func @f(%env: !llvm.ptr, %weights: memref<?xi8>, %workspace: memref<?xi8>, %x: memref<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> i32
        attributes {attn.entry} {
      ...
      %t = memref.view %workspace[%c0][%n] : memref<?xi8> to memref<?xf32>
      memref.copy %x, %t : memref<?xf32> to memref<?xf32>
      return %s : i32
    }
    func.func @f.workspace(%n: index, %workers: index) -> index {
      %c4 = arith.constant 4 : index
      %0 = arith.muli %c4, %n : index
      %c63 = arith.constant 63 : index
      %1 = arith.addi %0, %c63 : index
      %c-64 = arith.constant -64 : index
      %2 = arith.andi %1, %c-64 : index
      ...
      return %6 : index
    }
    ```
  }];
  let options = [Option<"stack", "stack", "int64_t", "16384", "Bytes of scratch that a task may have on its stack">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def AttnExpandMath : Pass<"attn-expand-math"> {
  let summary = "expands functions of math to polynomials";
  let description = [{
    f32 `math.exp`, `math.exp2`, `math.tanh`, `math.erf`, `math.sin`, `math.cos` and `math.log`, scalar or vector, become polynomials; LLVM would call libm once per
    element. Errors, measured over all arguments where the result is normal, are at most 2 ulp for exp, exp2, sin, cos and log, and 4 ulp for tanh and erf.
    - Infinities, NaN and underflow to zero are as in libm; exp and exp2 flush results below 2^-126 to zero.
    - sin and cos are defined for |x| <= 2^20 and give NaN beyond; positions of rotary embeddings are reduced to one revolution before.
    - exp2 of operands that are not above zero (`nonpositive`) takes 11 instructions. Its error is at most 4 ulp; results that would be denormal are below 2^-126.
    - exp2 whose result is cast to bf16 (`rounded`) has a polynomial of four terms with a relative error of 7.5e-5.

    The rarer functions are computed in f64 and rounded once, with an error of at most 1 ulp: `arith.remf`, `math.tan`, `math.asin`, `math.acos`, `math.atan`, `math.atan2`,
    `math.sinh`, `math.cosh`, `math.expm1`, `math.log2`, `math.log10`, `math.log1p`, `math.cbrt`, `math.powf` and `math.fpowi`. tan is NaN for |x| > 2^20. Functions of bf16 and
    f16 are computed in f32 and rounded once. A function that would remain a call of libm is an error.

    Casts to and from bf16 become integer shifts and sums.

    ```mlir
    func.func @e(%x: vector<16xf32>) -> vector<16xf32> {
      %0 = math.exp2 %x : vector<16xf32>
      return %0 : vector<16xf32>
    }
    ```
    becomes (clamps, and the results of arguments beyond them, are left out)
    ```
    %n = math.roundeven %clamped : vector<16xf32>
    %fraction = arith.subf %clamped, %n : vector<16xf32>
    %0 = math.fma %c5, %fraction, %c4 : vector<16xf32>
    ...
    %4 = math.fma %3, %fraction, %c0 : vector<16xf32>
    %5 = arith.fptosi %n : vector<16xf32> to vector<16xi32>
    %6 = arith.shli %5, %c23 : vector<16xi32>
    %7 = arith.bitcast %4 : vector<16xf32> to vector<16xi32>
    %8 = arith.addi %7, %6 : vector<16xi32>
    %9 = arith.bitcast %8 : vector<16xi32> to vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnLowerVectors : Pass<"attn-lower-vectors"> {
  let summary = "prepares vector code for its conversion to the llvm dialect";
  let description = [{
    Transfers of several dims are unrolled into transfers of one dim. These become loads and stores, masked where they may leave the buffer. Slices, transposes
    and interleaves become shuffles, reductions of several dims become those of one. `memref.subview` becomes arithmetic on offsets. All patterns run in one traversal.

    ```mlir
    func.func @copy(%x: memref<2x16xf32>, %v: vector<2x16xf32>, %i: index) {
      vector.transfer_write %v, %x[%i, %i] {in_bounds = [true, true]} : vector<2x16xf32>, memref<2x16xf32>
      return
    }
    ```
    becomes
    ```
    %0 = vector.extract %v[0] : vector<16xf32> from vector<2x16xf32>
    vector.store %0, %x[%i, %i] : memref<2x16xf32>, vector<16xf32>
    %1 = affine.apply affine_map<()[s0] -> (s0 + 1)>()[%i]
    %2 = vector.extract %v[1] : vector<16xf32> from vector<2x16xf32>
    vector.store %2, %x[%1, %i] : memref<2x16xf32>, vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnToLLVM : Pass<"attn-to-llvm", "::mlir::ModuleOp"> {
  let summary = "converts everything to the llvm dialect";
  let description = [{
    Converts bufferized code of vectors, memrefs and control flow. `attn_host.parallel_for` becomes a closure on the stack and a call of the executor in `rapt_env`, whose nonzero
    status returns from the entry at once. `attn_host.launch` becomes such a call of `launch` with a `rapt_kernel`, a constant that names the external `rapt.device_code`.
    A kernel takes one parameter, a struct of the captures by value. The dialects of a target's instructions (`dialects`) convert by their own interfaces. Vectors of bf16 are loaded and
    stored as integers.

    ```mlir
    func.func @f(%x: memref<4xf32>, %i: index) -> f32 {
      %0 = memref.load %x[%i] : memref<4xf32>
      return %0 : f32
    }
    ```
    becomes
    ```mlir
    llvm.func @f(%allocated: !llvm.ptr, %aligned: !llvm.ptr, %offset: i64, %size: i64, %stride: i64, %i: i64) -> f32 {
      %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %1 = llvm.insertvalue %allocated, %0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %2 = llvm.insertvalue %aligned, %1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %3 = llvm.insertvalue %offset, %2[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %4 = llvm.insertvalue %size, %3[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %5 = llvm.insertvalue %stride, %4[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %6 = llvm.extractvalue %5[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %7 = llvm.getelementptr inbounds|nuw %6[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %8 = llvm.load %7 : !llvm.ptr -> f32
      llvm.return %8 : f32
    }
    ```
  }];
  let options = [ListOption<"dialects", "dialects", "std::string", "Dialects of the target's instructions">,
                 ListOption<"kept", "kept", "std::string", "Dialects whose ops stay as they are">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect"];
}

def AttnEmitEntries : Pass<"attn-emit-entries", "::mlir::ModuleOp"> {
  let summary = "gives entries the signature of artifact.h";
  let description = [{
    Adds two exported functions for every entry: `(env, buffers, dims) -> status` (`rapt_entry_fn` in lib/Runtime/include/rapt/artifact.h), which reads
    buffers and dims in the manifest's order and calls the compiled function, and one of type `rapt_workspace_fn`. All other functions become local. In a
    module without `attn.model`, entries are bare kernels: `NAME(env, inputs..., outputs..., dims, scratch)` and `NAME_scratch(dims, workers)`.

    ```mlir
    module attributes {attn.model = {}} {
      attn.dim @n min 0 max 64
      llvm.func @step(%env: !llvm.ptr, %x: !llvm.ptr, %aligned: !llvm.ptr, %offset: i64, %size: i64, %stride: i64) -> i32
          attributes {attn.entry, attn.buffers = [{attn.name = "x", attn.dims = ["n"], kind = "input", type = memref<?xf32>} ]} {
        %0 = llvm.mlir.constant(0 : i32) : i32
        llvm.return %0 : i32
      }
      llvm.func @step.workspace(%n: i64, %workers: i64) -> i64 {
        llvm.return %workers : i64
      }
    }
    ```
    becomes
    ```
    llvm.func internal @step.body(%env: !llvm.ptr, %x: !llvm.ptr, %aligned: !llvm.ptr, %offset: i64, %size: i64, %stride: i64) -> i32 ...
    llvm.func @step(%env: !llvm.ptr, %buffers: !llvm.ptr, %dims: !llvm.ptr) -> i32 attributes {..., attn.entry} {
      %0 = llvm.getelementptr %buffers[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %x = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      ...
      %status = llvm.call @step.body(%env, %x, %x, %zero, %n, %one) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> i32
      llvm.return %status : i32
    }
    llvm.func @step.workspace(%dims: !llvm.ptr, %workers: i64) -> i64 ...
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
