// RUN: rapt-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<?x4x16xf32>, %row_begin: tensor<?xi32>) {
  // expected-error@+1 {{'attn.pool_rows' op needs an input of rank 2 and offsets of rank 1, found 'tensor<?x4x16xf32>' and 'tensor<?xi32>'}}
  %0 = attn.pool_rows mean %x, %row_begin : tensor<?x4x16xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return
}

// -----

func.func @result(%x: tensor<?x64xf32>, %row_begin: tensor<4xi32>) {
  // expected-error@+1 {{result 'tensor<4x64xf32>' does not fit input 'tensor<?x64xf32>' and offsets 'tensor<4xi32>'}}
  %0 = attn.pool_rows mean %x, %row_begin : tensor<?x64xf32>, tensor<4xi32> -> tensor<4x64xf32>
  return
}

// -----

func.func @kind(%x: tensor<?x64xf32>, %row_begin: tensor<?xi32>) {
  // expected-error@+2 {{expected ::rapt::attn::PoolingKind to be one of: first, last, mean, max}}
  // expected-error@+1 {{failed to parse Attn_PoolingAttr parameter 'value' which is to be a `::rapt::attn::PoolingKind`}}
  %0 = attn.pool_rows median %x, %row_begin : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return
}

// -----

func.func @skip(%x: tensor<?x64xf32>, %row_begin: tensor<?xi32>) {
  // expected-error@+1 {{'attn.pool_rows' op skips -1 tokens}}
  %0 = attn.pool_rows mean %x, %row_begin skip -1 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return
}
