// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{'attn.dim' op needs 0 <= min <= max, found min 5, max 4}}
attn.dim @n min 5 max 4

// -----

// expected-error@+1 {{'attn.dim' op needs 0 <= min <= max, found min -1, max 4}}
attn.dim @n min -1 max 4

// -----

func.func @no_dim() {
  // expected-error@+1 {{'attn.dim_size' op names 'tokens', which is no attn.dim}}
  %0 = attn.dim_size @tokens : index
  return
}

// -----

// expected-error@+1 {{'attn.parameter' op needs a static shape, found 'tensor<?x64xf32>'}}
attn.parameter @w : tensor<?x64xf32> from [#attn.source<"w">]

// -----

// expected-error@+1 {{needs a float or quantized element type, found 'tensor<64xi8>'}}
attn.parameter @w : tensor<64xi8> from [#attn.source<"w">]

// -----

// expected-error@+1 {{is stacked over 3 layers, but its type is 'tensor<2x64xf32>'}}
attn.parameter @w layers 3 : tensor<2x64xf32> from [#attn.source<"{layer}.w">]

// -----

// expected-error@+1 {{is stacked over 3 layers, but its type is 'tensor<f32>'}}
attn.parameter @w layers 3 : tensor<f32> from [#attn.source<"{layer}.w">]

// -----

// expected-error@+1 {{needs at least one layer and a first layer from 0 on, found 0 from 0 on}}
attn.parameter @w layers 0 : tensor<0x64xf32> from [#attn.source<"{layer}.w">]

// -----

// expected-error@+1 {{needs at least one layer and a first layer from 0 on, found 2 from -1 on}}
attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.w">] {first_layer = -1 : i64}

// -----

// expected-error@+1 {{needs one number for each of its 2 layers and no first layer, found [0, 2, 4]}}
attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.w">] {layer_numbers = array<i64: 0, 2, 4>}

// -----

// expected-error@+1 {{needs one number for each of its 2 layers and no first layer, found [3, 5]}}
attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.w">] {first_layer = 3 : i64, layer_numbers = array<i64: 3, 5>}

// -----

// expected-error@+1 {{needs ascending numbers of layers from 0 on, found [2, 2]}}
attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.w">] {layer_numbers = array<i64: 2, 2>}

// -----

// expected-error@+1 {{needs at least one source tensor}}
attn.parameter @w : tensor<64xf32> from []

// -----

// expected-error@+1 {{source '{layer}.w' names {layer}, but the parameter is not stacked}}
attn.parameter @w : tensor<64xf32> from [#attn.source<"{layer}.w">]

// -----

// expected-error@+1 {{source 'w' must name {layer}, because the parameter is stacked}}
attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"w">]

// -----

func.func @no_parameter() {
  // expected-error@+1 {{'attn.parameter_slice' op names 'w', which is no attn.parameter}}
  %0 = attn.parameter_slice @w : tensor<64xf32>
  return
}

// -----

attn.parameter @w : tensor<64xf32> from [#attn.source<"w">]
func.func @not_stacked(%i: index) {
  // expected-error@+1 {{gives a layer, but 'w' is not stacked}}
  %0 = attn.parameter_slice @w[%i] : tensor<64xf32>
  return
}

// -----

attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.w">]
func.func @stacked() {
  // expected-error@+1 {{needs a layer, because 'w' is stacked}}
  %0 = attn.parameter_slice @w : tensor<2x64xf32>
  return
}

// -----

attn.parameter @w layers 2 : tensor<2x64xf32> from [#attn.source<"{layer}.w">]
func.func @slice_type(%i: index) {
  // expected-error@+1 {{has type 'tensor<2x64xf32>', but 'w' gives 'tensor<64xf32>'}}
  %0 = attn.parameter_slice @w[%i] : tensor<2x64xf32>
  return
}

// -----

// expected-error@+1 {{needs extents from 1 on, found 'tensor<4x0xf32>'}}
attn.parameter @w : tensor<4x0xf32> from [#attn.source<"w">]

// -----

// expected-error@+1 {{has the layout #attn.rows<shape = [64, 80]>, in which no layer is 'tensor<64x72xf32>'}}
attn.parameter @w : tensor<64x72xf32> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 80]>}

// -----

// Two groups of columns have as much padding.
// expected-error@+1 {{has the layout #attn.rows<shape = [64, 80], column_group = 40>, in which no layer is 'tensor<64x97xf32>'}}
attn.parameter @w : tensor<64x97xf32> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 80], column_group = 40>}

// -----

// A quantized matrix has its groups along rows.
// expected-error@+1 {{in which no layer is 'tensor<64x96x!attn.quantized<u8 group 32 axis 0>>'}}
attn.parameter @w : tensor<64x96x!attn.quantized<u8 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn.rows<shape = [64, 96]>}

// -----

// expected-error@+1 {{expected groups that make up the columns of [64, 80], found groups of 30}}
#rows = #attn.rows<shape = [64, 80], column_group = 30>

// -----

// expected-error@+1 {{expected extents from 1 to 2^40, found [64, 0]}}
#rows = #attn.rows<shape = [64, 0]>

// -----

// expected-error@+1 {{attribute 'layout' failed to satisfy constraint: ParameterLayoutInterface instance}}
attn.parameter @w : tensor<64x72xf32> from [#attn.source<"w">] {layout = 1 : i64}
