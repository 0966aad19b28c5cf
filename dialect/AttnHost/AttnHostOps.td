//===- AttnHostOps.td - Ops of host programs ---------------------------*- tablegen -*-===//
#ifndef RAPT_ATTNHOST_OPS_TD
#define RAPT_ATTNHOST_OPS_TD

include "mlir/IR/AttrTypeBase.td"
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
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Attribute of a function of device code that is launched: `#attn_host.kernel`.
    static constexpr ::llvm::StringLiteral kernelAttr = "attn_host.kernel";
  }];
}

class AttnHost_NumberParameter<int value> : DefaultValuedParameter<"int64_t", !cast<string>(value)>;

def AttnHost_KernelAttr : AttrDef<AttnHost_Dialect, "Kernel"> {
  let mnemonic = "kernel";
  let summary = "how a kernel is launched";
  let description = [{
    A thread block has `threads` threads and `shared` bytes of dynamic shared memory. The first `maps` captures are tensor maps (`attn_host.tensor_map`). A kernel that `overlaps` waits for the one in front of it by itself, and may be started before that ends.

    Example: `#attn_host.kernel<threads = 128, shared = 1024>`
  }];
  let parameters = (ins "int64_t":$threads, AttnHost_NumberParameter<0>:$shared, AttnHost_NumberParameter<0>:$maps, DefaultValuedParameter<"bool", "false">:$overlaps);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
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
    enclosing entry. The kernel is a function of a nested module of device code, with the attribute `attn_host.kernel` (`#attn_host.kernel`). It
    gets the 128 bytes of its tensor maps by value.

    ```mlir
    gpu.module @kernels {
      func.func @scale(%x: memref<?xf32>) attributes {attn_host.kernel = #attn_host.kernel<threads = 128>} {
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

def AttnHost_TensorMapOp : AttnHost_Op<"tensor_map", [Pure, AllTypesMatch<["env", "map"]>]> {
  let summary = "describes an array for copies by hardware";
  let description = [{
    A tensor map of an array of the device, through `rapt_env.tensor_map`. `dims` lists the array's dims from the one whose elements are beside each other outwards, `box` how many elements a copy has along each of them, and `swizzle` the bytes of the
    pattern in which rows of a box are in shared memory, or 0. `made` tells whether there is one for the array: rows that do not begin at multiples of 16 bytes have none. `map` points at its 128 bytes, which are valid until the entry returns.

    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<?x?x8x64xbf16>) -> i1 {
      %map, %made = attn_host.tensor_map %x dims [3, 1, 2, 0] box [64, 128, 1, 1] swizzle 128 env %env : memref<?x?x8x64xbf16>, !llvm.ptr
      return %made : i1
    }
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$array, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$box, I64Attr:$swizzle, AnyType:$env);
  let results = (outs AnyType:$map, I1:$made);
  let assemblyFormat = "$array `dims` $dims `box` $box `swizzle` $swizzle `env` $env attr-dict `:` type($array) `,` type($env)";
  let hasVerifier = 1;
}

#endif
