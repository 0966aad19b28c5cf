//===- Passes.td - Layouts of the CPU ---------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_LAYOUT_PASSES_TD
#define RAPT_TARGET_CPU_LAYOUT_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    becomes
    ```mlir
    func.func @norm(%x: tensor<?x33xf32>, %w: tensor<33xf32>) -> tensor<?x33xf32> {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %padded = tensor.pad %x low[0, 0] high[0, 31] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : f32
      } : tensor<?x33xf32> to tensor<?x64xf32>
      %gains = tensor.pad %w low[0] high[31] {
      ^bb0(%i: index):
        tensor.yield %zero : f32
      } : tensor<33xf32> to tensor<64xf32>
      %0 = attn.rms_norm %padded, %gains epsilon 1.0e-6 columns 33 : tensor<?x64xf32>, tensor<64xf32>
      %rows = tensor.dim %0, %c0 : tensor<?x64xf32>
      %y = tensor.extract_slice %0[0, 0] [%rows, 33] [1, 1] : tensor<?x64xf32> to tensor<?x33xf32>
      return %y : tensor<?x33xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnWidenActivations : Pass<"attn-widen-activations", "::mlir::ModuleOp"> {
  let summary = "computes on activations of bf16 and f16 in f32";
  let description = [{
    The CPU's schedules take activations of f32. An op whose activations are of 16 bits gets them in f32, and its result is rounded to
    the 16 bits and widened again, in a matmul's epilogue or by `arith.truncf` and `arith.extf`; what only moves numbers does so in f32. A loop carries f32,
    too. Weights, keys and values of attention that come in 16 bits stay as they are, and so does a tensor that is updated in
    place. Where all activations are f32 nothing changes.

    ```mlir
    func.func @up(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>) -> tensor<?x96xbf16> {
      %y = attn.linear %x, %w : tensor<?x64xbf16>, tensor<64x96xbf16> -> tensor<?x96xbf16>
      return %y : tensor<?x96xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @up(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>) -> tensor<?x96xbf16> {
      %wide = arith.extf %x : tensor<?x64xbf16> to tensor<?x64xf32>
      %y = attn.linear %wide, %w : tensor<?x64xf32>, tensor<64x96xbf16> -> tensor<?x96xf32> {
      ^bb0(%sum: f32):
        %narrow = arith.truncf %sum : f32 to bf16
        %rounded = arith.extf %narrow : bf16 to f32
        attn.yield %rounded : f32
      }
      %exact = arith.truncf %y : tensor<?x96xf32> to tensor<?x96xbf16>
      return %exact : tensor<?x96xbf16>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def AttnMaterializeLayouts : Pass<"attn-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "decides where parameters lie in the weight file and pads shapes to panels of 32";
  let description = [{
    Each `attn.parameter` gets a layout that fits its uses (packed panels for matmuls, rows for tables and vectors), an offset and a
    stride; its type becomes the physical one. Activations, and a model's states (arguments that are results as well), are padded to
    multiples of 32 columns, each part of a recurrence's gates for itself, heads to multiples of
    32 channels; normalizations learn how many columns count; `!attn.kv_cache` becomes the tensor of its blocks. The
    padding is zero throughout: the result of an op that makes another number of zeros (an epilogue, a sigmoid) gets zeros there by a
    `linalg.generic`. A bf16 weight of a matmul is VNNI-packed (interleaved by 2) on every CPU.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    becomes
    ```mlir
    attn.parameter @w : tensor<3x64x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 80], interleave = 1>, offset = 0 : i64, stride = 24576 : i64}
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<3x64x32xf32>
      %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<3x64x32xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnCastActivations : Pass<"attn-cast-activations", "::mlir::ModuleOp"> {
  let summary = "casts the activations of bf16 dot-product matmuls to bf16";
  let description = [{
    Where the target has bf16 dot products (`bf16_dot`, `amx_bf16`), the input of every `attn.linear` whose weight is VNNI-packed
    goes through `attn_cpu.cast_rows`, once for all matmuls that read it. `attn-cpu-fuse` decides whether the op that makes the activations casts them.
    Elsewhere nothing changes: weights are widened, and inputs stay f32.

    ```mlir
    module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
        %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
    becomes
    ```mlir
    module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
        %0 = attn_cpu.cast_rows %x : tensor<?x64xf32> -> tensor<?x64xbf16>
        %y = attn.linear %0, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect"];
}

def AttnBf16Attention : Pass<"attn-bf16-attention", "::mlir::ModuleOp"> {
  let summary = "chooses bf16 matmuls for attention";
  let description = [{
    On a target with bf16 matmuls (`bf16_dot`, `amx_bf16`), sets `attn_cpu.bf16_matmul` on `attn.attention` whose keys and values are stored in bf16, or whose keys are not in
    a cache while all weights of the program's matmuls are VNNI-packed. An additive similarity is no matmul and stays as it is.

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
    becomes
    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @f(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xbf16>, %v: tensor<?x12x64xbf16>) -> tensor<?x12x64xf32> {
        %scale = arith.constant 0.125 : f32
        %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] {attn_cpu.bf16_matmul}
          : tensor<?x12x64xf32>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
        return %o : tensor<?x12x64xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect"];
}

#endif
