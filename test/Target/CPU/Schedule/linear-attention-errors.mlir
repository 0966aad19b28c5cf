// RUN: rapt-opt %s --attn-cpu-tile --split-input-file --verify-diagnostics

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'columns' must be a multiple of 32 that divides the 64 value channels, found 48}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 48, single = 32, tokens = 2, keys = 4>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'columns' must be a multiple of 32 that divides the 64 value channels, found 96}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 96, single = 32, tokens = 2, keys = 4>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'keys' must be from 1 to 16, found 17}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, single = 32, tokens = 2, keys = 17>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'keys' must divide the 64 key channels, found 3}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, single = 32, tokens = 2, keys = 3>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'tokens' must be from 1 to 8, found 9}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, single = 32, tokens = 9, keys = 4>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'chunk' must be from 2, its tokens, to 1024, found 1}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 1, columns = 32, single = 32, tokens = 2, keys = 4>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> tensor<?x1x64xf32> {
    // expected-error@+1 {{has a schedule whose 'single' must be a multiple of 32 that divides the 64 value channels, found 128}}
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) {attn.schedule = #attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, single = 128, tokens = 2, keys = 4>} : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0 : tensor<?x1x64xf32>
  }
}
