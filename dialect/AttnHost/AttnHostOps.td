//===- AttnHostOps.td - Ops of host programs ---------------------------*- tablegen -*-===//
#ifndef RAPT_ATTNHOST_OPS_TD
#define RAPT_ATTNHOST_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AttnHost_Dialect : Dialect {
  let name = "attn_host";
  let cppNamespace = "::rapt::attn_host";
  let summary = "Host programs of every target: dispatches to the executor.";
  let description = [{
    The dialect attn says what is computed. A host program says how an entry runs it on any target: as dispatches, parallel loops that are
    handed to the executor of the caller, or kernels that a device runs. lib/Host makes and lowers the ops, in the stage backend.
  }];
  let extraClassDeclaration = [{
    /// The threads and the shared memory of a kernel (attn_host.launch).
    static constexpr ::llvm::StringLiteral kernelAttr = "attn_host.kernel";
  }];
}

class AttnHost_Op<string mnemonic, list<Trait> traits = []> : Op<AttnHost_Dialect, mnemonic, traits>;

def AttnHost_ParallelForOp : AttnHost_Op<"parallel_for", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a dispatch: runs a task for every index of a range, through the executor of the caller";
  let description = [{
    Calls `task(captures..., begin, end, worker)` for ranges that cover [0, count) once, in any order and on any worker,
    and returns from the enclosing entry when the executor says that the run is canceled. `env` is the entry's
    `rapt_env` (lib/Runtime/include/rapt/artifact.h). Made by `attn-outline-parallel`.

    ```mlir
    func.func private @task(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
      return
    }
    func.func @run(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
      attn_host.parallel_for @task(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$task, Variadic<AnyType>:$captures, Index:$count, AnyType:$env);
  let assemblyFormat = "$task `(` $captures `)` `count` $count `env` $env attr-dict `:` custom<TypeList>(type($captures)) `,` type($env)";
}

def AttnHost_LaunchOp : AttnHost_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a dispatch on a device: starts thread blocks of a kernel";
  let description = [{
    Starts `blocks` thread blocks of `kernel(captures...)` through `rapt_env.launch` and does not wait: launches of an entry run in order. A failure returns from the
    enclosing entry. The kernel is a function of a nested module of device code, with the attribute `attn_host.kernel = {threads, shared}`: the threads of a block, and
    the bytes of its dynamic shared memory.

    ```mlir
    gpu.module @kernels {
      func.func @scale(%x: memref<?xf32>) attributes {attn_host.kernel = {threads = 128 : i64, shared = 0 : i64}} {
        return
      }
    }
    func.func @run(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
      attn_host.launch @kernels::@scale(%x) blocks %n env %env : (memref<?xf32>), !llvm.ptr
      return
    }
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyType>:$captures, Index:$blocks, AnyType:$env);
  let assemblyFormat = "$kernel `(` $captures `)` `blocks` $blocks `env` $env attr-dict `:` custom<TypeList>(type($captures)) `,` type($env)";
}

#endif
