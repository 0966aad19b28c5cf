//===- Parallel.td - Calls into the executor -----------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_PARALLEL_TD
#define RAPT_ATTN_PARALLEL_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_ParallelForOp : Attn_Op<"parallel_for", [Attn_StaysInHostProgram, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a task for every index of a range, through the executor of the caller";
  let description = [{
    Calls `task(captures..., begin, end, worker)` for ranges that cover [0, count) once, in any order and on any worker,
    and returns from the enclosing entry when the executor says that the run is canceled. `env` is the entry's
    `rapt_env` (lib/Runtime/include/rapt/artifact.h). Made by `attn-outline-parallel`.

    ```mlir
    func.func private @task(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
      return
    }
    func.func @run(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) {
      attn.parallel_for @task(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$task, Variadic<AnyType>:$captures, Index:$count, AnyType:$env);
  let assemblyFormat = "$task `(` $captures `)` `count` $count `env` $env attr-dict `:` custom<TypeList>(type($captures)) `,` type($env)";
}

#endif
