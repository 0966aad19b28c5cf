// RUN: rapt-opt %s --attn-cpu-math-instructions --split-input-file | FileCheck %s

// On a target with vcvtne2ps2bf16, 32 elements or rows of 32 are cast to bf16 by one instruction, whose first operand is the upper half. Near
// miss: vectors of other sizes.
module attributes {attn.target = {bf16_cast, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func.func @instruction
  func.func @instruction(%x: vector<32xf32>, %y: vector<16xf32>, %z: vector<2x32xf32>) -> (vector<32xbf16>, vector<16xbf16>, vector<2x32xbf16>) {
    // CHECK: %[[LAST:.*]] = vector.extract_strided_slice %arg0 {offsets = [16]
    // CHECK: %[[FIRST:.*]] = vector.extract_strided_slice %arg0 {offsets = [0]
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[LAST]], %[[FIRST]]) : (vector<16xf32>, vector<16xf32>) -> vector<32xbf16>
    // CHECK: arith.truncf %arg1
    // CHECK-COUNT-2: cvtne2ps2bf16
    // CHECK: vector.insert {{.*}} [1] : vector<32xbf16> into vector<2x32xbf16>
    %0 = arith.truncf %x : vector<32xf32> to vector<32xbf16>
    %1 = arith.truncf %y : vector<16xf32> to vector<16xbf16>
    %2 = arith.truncf %z : vector<2x32xf32> to vector<2x32xbf16>
    return %0, %1, %2 : vector<32xbf16>, vector<16xbf16>, vector<2x32xbf16>
  }
}

// -----

// On a target with vreduceps and vscalefps, exp2 of nonpositive operands needs no clamp but the mask of results that become 0; 32 elements are two
// vectors. Near misses: an operand of any sign, and a vector that is no multiple of 16.
module attributes {attn.target = {scaled_reduce, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: func.func @powers
  func.func @powers(%x: vector<32xf32>, %y: vector<16xf32>, %z: vector<8xf32>) -> (vector<32xf32>, vector<16xf32>, vector<8xf32>) {
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
    // CHECK: arith.cmpf uge
    // CHECK-COUNT-5: math.fma {{.*}} : vector<16xf32>
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
    // CHECK-NOT: llvm.call_intrinsic
    // CHECK: math.exp2 %arg1
    // CHECK: math.exp2 %arg2 {nonpositive}
    %0 = math.exp2 %x {nonpositive} : vector<32xf32>
    %1 = math.exp2 %y : vector<16xf32>
    %2 = math.exp2 %z {nonpositive} : vector<8xf32>
    return %0, %1, %2 : vector<32xf32>, vector<16xf32>, vector<8xf32>
  }

  // A result that is cast to bf16 needs two multiply-adds fewer.
  // CHECK-LABEL: func.func @coarse
  func.func @coarse(%x: vector<16xf32>) -> vector<16xf32> {
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
    // CHECK-COUNT-3: math.fma {{.*}} : vector<16xf32>
    // CHECK-NOT: math.fma {{.*}} : vector<16xf32>
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
    // CHECK: return
    %0 = math.exp2 %x {nonpositive, rounded} : vector<16xf32>
    return %0 : vector<16xf32>
  }
}
