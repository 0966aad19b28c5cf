// RUN: rapt-opt %s --attn-decompose-attention --verify-diagnostics --split-input-file

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
func.func @apply(%q: tensor<1x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index,
                  %acc: tensor<1x32xf32>, %m: tensor<1xf32>, %l: tensor<1xf32>) -> tensor<1x32xf32> {
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<1x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %x: index, %y: index):
      // expected-error@+1 {{is not elementwise, so it cannot be in a score or mask region of a CPU program}}
      %z = affine.apply affine_map<(d0) -> (d0 + 1)>(%y)
      attn.yield %s : f32
    }
  return %0#0 : tensor<1x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
func.func @too_many_queries(%q: tensor<17x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                            %acc: tensor<17x64xf32>, %m: tensor<17xf32>, %l: tensor<17xf32>) -> tensor<17x64xf32> {
  // expected-error @+1 {{has 17 queries; tiles of a CPU program have at least 1 and at most 16}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<17x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<17x64xf32>, tensor<17xf32>, tensor<17xf32>
  return %0#0 : tensor<17x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
func.func @any_number_of_keys(%q: tensor<8x64xf32>, %k: tensor<?x64x32xf32>, %v: tensor<2x?x32xf32>, %scale: f32, %i: index,
                              %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{needs bounded numbers of queries and keys}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}

// -----

func.func @merge(%as: tensor<4x8x20xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %a: tensor<8x20xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x20xf32> {
  // expected-error@+1 {{has 20 value channels, which must be a multiple of 32}}
  %0:3 = attn_cpu.attention_merge %as, %ms, %ls init(%a, %m, %l) : tensor<4x8x20xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x20xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x20xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
func.func @no_queries(%q: tensor<0x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                      %acc: tensor<0x64xf32>, %m: tensor<0xf32>, %l: tensor<0xf32>) -> tensor<0x64xf32> {
  // expected-error@+1 {{has 0 queries; tiles of a CPU program have at least 1 and at most 16}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<0x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<0x64xf32>, tensor<0xf32>, tensor<0xf32>
  return %0#0 : tensor<0x64xf32>
}

// -----

func.func @none(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  // expected-error@+1 {{'attn_cpu.attention_state' op has no attn.schedule, which attn-cpu-schedule sets}}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l)
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}
