// Machine code of bf16 matmuls by dot products and AMX, for processors that a test may not run on.

// RUN: raptc %s --mcpu=znver5 -S | FileCheck %s --check-prefix=DOT
// RUN: raptc %s --mcpu=sapphirerapids -S | FileCheck %s --check-prefix=TILE
// REQUIRES: compiler

// A step is two loads, 14 broadcasts and 28 dot products without a spill.
// DOT-LABEL: {{^}}matmul.task1:
// DOT-NOT: tdpbf16ps
// DOT: prefetcht0
// DOT-COUNT-2: vmovups {{.*}}, %zmm
// DOT-NOT: (%rsp)
// DOT-COUNT-28: vdpbf16ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm
// DOT-NEXT: {{cmp|dec|add|sub}}
// DOT: .Lfunc_end

// A step is four tile loads and four tile multiplications without a spill. vdpbf16ps has half the rate of multiply-adds on this CPU.
// TILE-LABEL: {{^}}matmul.task1:
// TILE-NOT: vdpbf16ps
// TILE-COUNT-4: tilezero
// TILE-NOT: tilestored
// TILE: [[LOOP:.LBB[0-9_]+]]:
// TILE-COUNT-3: tileloadd
// TILE-COUNT-2: tdpbf16ps
// TILE: tileloadd
// TILE-COUNT-2: tdpbf16ps
// TILE: j{{l|ne|b}} [[LOOP]]
// TILE-COUNT-4: tilestored
// TILE: .Lfunc_end
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.dim @rows min 0 max 1024
attn.parameter @w : tensor<256x64xbf16> from [#attn.source<"w">]
func.func @matmul(%x: tensor<?x256xf32> {attn.name = "x", attn.dims = ["rows"]})
    -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @w : tensor<256x64xbf16>
  %0 = attn.linear %x, %w : tensor<?x256xf32>, tensor<256x64xbf16> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
}
