// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{the second operand of wgmma is a tile in shared memory, expected layout a or acc}}
func.func private @f() attributes {x = #attn_gpu.wgmma<b>}

// -----

// expected-error@+1 {{expected a swizzle of 32, 64 or 128 bytes, found 256}}
func.func private @f() attributes {x = #attn_gpu.swizzle<256>}

// -----

// expected-error@+1 {{expected a multiple of 16x8 up to 65536, found 8x8}}
func.func private @f(!attn_gpu.fragment<8x8xf32, #attn_gpu.mma<acc>>)

// -----

// expected-error@+1 {{expected a multiple of 64x16 up to 65536, found 64x8}}
func.func private @f(!attn_gpu.fragment<64x8xbf16, #attn_gpu.wgmma<a>>)

// -----

// expected-error@+1 {{expected a multiple of 16x8 up to 65536, found 16x9223372036854775800}}
func.func private @f(!attn_gpu.fragment<16x9223372036854775800xf32, #attn_gpu.mma<acc>>)

// -----

// expected-error@+1 {{expected at most 512 elements for each thread, found 1024}}
func.func private @f(!attn_gpu.fragment<64x512xf32, #attn_gpu.mma<acc>>)

// -----

// expected-error@+1 {{expected accumulators of f32 or i32, found 'bf16'}}
func.func private @f(!attn_gpu.fragment<16x8xbf16, #attn_gpu.mma<acc>>)

// -----

// expected-error@+1 {{expected operands of bf16, f16 or i16, found 'f32'}}
func.func private @f(!attn_gpu.fragment<16x8xf32, #attn_gpu.mma<b>>)

// -----

// expected-error@+1 {{expected rows and columns, found 1 extents}}
func.func private @f(!attn_gpu.fragment<16xf32, #attn_gpu.mma<acc>>)

// -----

// expected-error@+1 {{expected rows of accumulators, a multiple of 16 up to 65536, found 16 of #attn_gpu.mma<a>}}
func.func private @f(!attn_gpu.row_vector<16, #attn_gpu.mma<a>>)

// -----

// expected-error@+1 {{expected rows of accumulators, a multiple of 64 up to 65536, found 16 of #attn_gpu.wgmma<acc>}}
func.func private @f(!attn_gpu.row_vector<16, #attn_gpu.wgmma<acc>>)

// -----

// expected-error@+1 {{expected elements of bf16, f16, f32 or i16 in a multiple of 8x64 up to 65536, found 64x32x'bf16'}}
func.func private @f(!attn_gpu.tile<64x32xbf16, #attn_gpu.swizzle<128>>)

// -----

// A box has half as many f32.
// expected-error@+1 {{expected elements of bf16, f16, f32 or i16 in a multiple of 8x32 up to 65536, found 64x16x'f32'}}
func.func private @f(!attn_gpu.tile<64x16xf32, #attn_gpu.swizzle<128>>)

// -----

// expected-error@+1 {{expected elements of bf16, f16, f32 or i16 in a multiple of 8x64 up to 65536, found 64x64x'f8E5M2'}}
func.func private @f(!attn_gpu.tile<64x64xf8E5M2, #attn_gpu.swizzle<128>>)

// -----

// expected-error@+1 {{expected a pitch from 64, a multiple of 8 with at most 232448 bytes in all, found 32}}
func.func private @f(!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 32>)

// -----

// expected-error@+1 {{expected a pitch from 2048, a multiple of 8 with at most 232448 bytes in all, found 2048}}
func.func private @f(!attn_gpu.tile<2048x64xbf16, #attn_gpu.swizzle<128>>)
