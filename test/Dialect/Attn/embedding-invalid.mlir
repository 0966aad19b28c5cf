// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @ids_rank(%ids: tensor<?x?xi32>, %table: tensor<97x64xf32>) {
  // expected-error@+1 {{'attn.embedding' op needs ids of rank 1, found 'tensor<?x?xi32>'}}
  %0 = attn.embedding %ids, %table : tensor<?x?xi32>, tensor<97x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @ids_type(%ids: tensor<?xi64>, %table: tensor<97x64xf32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of 32-bit signless integer values}}
  %0 = attn.embedding %ids, %table : tensor<?xi64>, tensor<97x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @table_rank(%ids: tensor<?xi32>, %table: tensor<97xf32>) {
  // expected-error@+1 {{needs a table of rank 2, or a layout, found 'tensor<97xf32>'}}
  %0 = attn.embedding %ids, %table : tensor<?xi32>, tensor<97xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @panel(%ids: tensor<?xi32>, %table: tensor<4x40x16xf32>) {
  // expected-error@+1 {{needs a table in the layout #attn_cpu.panels<columns = 32, interleave = 1>, found 'tensor<4x40x16xf32>'}}
  %0 = attn.embedding %ids, %table {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x16xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @result_columns(%ids: tensor<?xi32>, %table: tensor<97x64xf32>) {
  // expected-error@+1 {{result 'tensor<?x63xf32>' does not fit ids 'tensor<?xi32>' and table 'tensor<97x64xf32>'}}
  %0 = attn.embedding %ids, %table : tensor<?xi32>, tensor<97x64xf32> -> tensor<?x63xf32>
  return
}

// -----

func.func @result_rows(%ids: tensor<3xi32>, %table: tensor<97x64xf32>) {
  // expected-error@+1 {{result 'tensor<4x64xf32>' does not fit}}
  %0 = attn.embedding %ids, %table : tensor<3xi32>, tensor<97x64xf32> -> tensor<4x64xf32>
  return
}

// -----

func.func @result_unpadded(%ids: tensor<?xi32>, %table: tensor<4x40x32xf32>) {
  // expected-error@+1 {{result 'tensor<?x40xf32>' does not fit}}
  %0 = attn.embedding %ids, %table {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?xi32>, tensor<4x40x32xf32> -> tensor<?x40xf32>
  return
}

// -----

func.func @select_rank(%x: tensor<?x4x16xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{'attn.select_rows' op needs an input of rank 2 and rows of rank 1, found 'tensor<?x4x16xf32>' and 'tensor<?xi32>'}}
  %0 = attn.select_rows %x, %rows : tensor<?x4x16xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return
}

// -----

func.func @select_result(%x: tensor<?x64xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{result 'tensor<?x32xf32>' does not fit input 'tensor<?x64xf32>' and rows 'tensor<?xi32>'}}
  %0 = attn.select_rows %x, %rows : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x32xf32>
  return
}

// -----

func.func @add_rank(%x: tensor<?x64xf32>, %v: tensor<?x4x64xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{'attn.write_rows' op needs values of rank 2 without a layer, found 'tensor<?x4x64xf32>'}}
  %0 = attn.write_rows add %x, %v, %rows : tensor<?x64xf32>, tensor<?x4x64xf32>, tensor<?xi32>
  return
}

// -----

func.func @add_layer(%x: tensor<?x64xf32>, %v: tensor<?x64xf32>, %layer: index, %rows: tensor<?xi32>) {
  // expected-error@+1 {{needs values of rank 3 with a layer, found 'tensor<?x64xf32>'}}
  %0 = attn.write_rows add %x, %v[%layer], %rows : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xi32>
  return
}

// -----

func.func @add_columns(%x: tensor<?x64xf32>, %v: tensor<?x32xf32>, %rows: tensor<?xi32>) {
  // expected-error@+1 {{values 'tensor<?x32xf32>' do not fit input 'tensor<?x64xf32>' and rows 'tensor<?xi32>'}}
  %0 = attn.write_rows add %x, %v, %rows : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>
  return
}

// -----

func.func @column_rank(%x: tensor<?x?xf32>) {
  // expected-error@+1 {{'attn.column' op needs an input of rank 2 with static columns, found 'tensor<?x?xf32>'}}
  %0 = attn.column %x[0] : tensor<?x?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @column_outside(%x: tensor<?x2xf32>) {
  // expected-error@+1 {{takes column 2 of 2}}
  %0 = attn.column %x[2] : tensor<?x2xf32> -> tensor<?xf32>
  return
}

// -----

func.func @column_result(%x: tensor<5x2xf32>) {
  // expected-error@+1 {{result 'tensor<?xf32>' does not fit input 'tensor<5x2xf32>'}}
  %0 = attn.column %x[0] : tensor<5x2xf32> -> tensor<?xf32>
  return
}

// -----

func.func @embedding_scale(%ids: tensor<?xi32>, %table: tensor<97x64xf32>) {
  // expected-error@+1 {{'attn.embedding' op needs a finite scale}}
  %0 = attn.embedding %ids, %table scale 1.0e39 : tensor<?xi32>, tensor<97x64xf32> -> tensor<?x64xf32>
  return
}
