// Machine code of attention by bf16 dot products and AMX, for processors that a test may not run on.

// RUN: raptc %s --no-weights --mcpu=znver5 -S | FileCheck %s --check-prefix=DOT
// RUN: raptc %s --no-weights --mcpu=sapphirerapids -S | FileCheck %s --check-prefix=TILE
// REQUIRES: compiler

// Scores: two loads, 14 broadcasts and 28 dot products per step; every two steps prefetch a line. Probabilities: one instruction casts 32, one adds them up. Values
// are computed as the scores are. No register is spilled in either matmul.
// DOT-LABEL: {{^}}attend.task1:
// DOT: vbroadcastss {{.*}}, %zmm
// DOT-COUNT-2: vmovups {{.*}}, %zmm
// DOT-NOT: (%rsp)
// DOT-COUNT-56: vdpbf16ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm
// DOT-NEXT: cmp
// DOT: vcvtne2ps2bf16
// DOT-NEXT: vdpbf16ps
// DOT: vbroadcastss {{.*}}, %zmm
// DOT-COUNT-2: vmovups {{.*}}, %zmm
// DOT-NOT: (%rsp)
// DOT-COUNT-56: vdpbf16ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm
// DOT-NEXT: cmp
// DOT: .Lfunc_end

// Scores of 16 queries twice, then softmax and values of each: a step is five tile loads and four tile multiplications without a spill.
// TILE-LABEL: {{^}}attend.task1:
// TILE-COUNT-4: tilezero
// TILE: tileloadd
// TILE-COUNT-4: tdpbf16ps
// TILE-COUNT-4: tilestored
// TILE-NOT: vcvtne2ps2bf16
// TILE-COUNT-4: tilezero
// TILE-COUNT-4: tdpbf16ps
// TILE-COUNT-4: tilestored
// TILE: vcvtne2ps2bf16
// TILE-NOT: tilestored
// TILE-COUNT-4: tileloadd
// TILE-NOT: tilestored
// TILE-COUNT-4: tdpbf16ps
// TILE-COUNT-4: tilestored
// TILE: vcvtne2ps2bf16
// TILE-COUNT-4: tdpbf16ps
// TILE-COUNT-4: tilestored
// TILE: .Lfunc_end
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.model = {family = "test", task = "feature-extraction", layers = 1 : i64}} {
attn.dim @queries min 0 max 1024
attn.parameter @w : tensor<64x64xbf16> from [#attn.source<"w">]
func.func @attend(%q: tensor<?x4x64xf32> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x4x64xf32> {attn.name = "k", attn.dims = ["queries"]})
    -> (tensor<?x4x64xf32> {attn.name = "y", attn.dims = ["queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  return %y : tensor<?x4x64xf32>
}
// Attention of a program whose matmuls read weights of bf16 is computed in bf16, too.
func.func @project(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["queries"]}) -> (tensor<?x64xf32> {attn.name = "y", attn.dims = ["queries"]}) attributes {attn.entry} {
  %w = attn.parameter_slice @w : tensor<64x64xbf16>
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xbf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}
