// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @split_rank(%x: tensor<?x4x16xf32>) {
  // expected-error@+1 {{'attn.split_heads' op needs an input of rank 2, found 'tensor<?x4x16xf32>'}}
  %0 = attn.split_heads %x : tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @split_result(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{gives [tokens, heads, channels] or [tokens, groups, heads, channels], nothing but tokens dynamic, found 'tensor<?x64xf32>'}}
  %0 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @split_dynamic(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{gives [tokens, heads, channels] or [tokens, groups, heads, channels], nothing but tokens dynamic, found 'tensor<?x?x16xf32>'}}
  %0 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x?x16xf32>
  return
}

// -----

func.func @split_columns(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{results take 48 columns, but the input is 'tensor<?x64xf32>'}}
  %0, %1 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x2x16xf32>, tensor<?x1x16xf32>
  return
}

// -----

func.func @split_overflow(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{results take more columns than can be counted}}
  %0 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x4611686018427387904x4xf32>
  return
}

// -----

func.func @merge_overflow(%x: tensor<?x4611686018427387904x4xf32>) {
  // expected-error@+1 {{cannot merge 'tensor<?x4611686018427387904x4xf32>' into 'tensor<?x0xf32>'}}
  %0 = attn.merge_heads %x : tensor<?x4611686018427387904x4xf32> -> tensor<?x0xf32>
  return
}

// -----

func.func @merge(%x: tensor<?x4x16xf32>) {
  // expected-error@+1 {{'attn.merge_heads' op cannot merge 'tensor<?x4x16xf32>' into 'tensor<?x32xf32>'}}
  %0 = attn.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x32xf32>
  return
}

// -----

func.func @merge_dynamic(%x: tensor<?x4x?xf32>) {
  // expected-error@+1 {{cannot merge 'tensor<?x4x?xf32>' into 'tensor<?x?xf32>'}}
  %0 = attn.merge_heads %x : tensor<?x4x?xf32> -> tensor<?x?xf32>
  return
}
