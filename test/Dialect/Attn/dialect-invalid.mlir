// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{attribute 'attn.stage' must be one of "imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect"}}
module attributes {attn.stage = "early"} {
}

// -----

// expected-error@+1 {{attribute 'attn.stage' must be one of}}
module attributes {attn.stage = 3 : i64} {
}

// -----

// expected-error@+1 {{attribute 'attn.entry' is a unit attribute of a function}}
module attributes {attn.entry} {
}

// -----

// expected-error@+1 {{attribute 'attn.repeated' is a unit attribute of attention}}
module attributes {attn.repeated} {
}

// -----

// expected-error@+1 {{attribute 'attn.read_by_rows' is a unit attribute of a parameter}}
module attributes {attn.read_by_rows} {
}

// -----

// expected-error@+1 {{attribute 'attn.read_by_rows' is a unit attribute of a parameter}}
attn.parameter @w : tensor<4xf32> from [#attn.source<"w">] {attn.read_by_rows = 1 : i64}

// -----

// expected-error@+1 {{attribute 'attn.entry' is a unit attribute of a function}}
func.func private @entry() attributes {attn.entry = true}

// -----

// expected-error@+1 {{attribute 'attn.model' is a dictionary of a module}}
module attributes {attn.model = "gpt2"} {
}

// -----

// expected-error@+1 {{attribute 'attn.target' is a dictionary of a module}}
func.func private @target() attributes {attn.target = {}}

// -----

// expected-error@+1 {{attribute 'attn.stage' must be one of "imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect", on a module}}
func.func private @stage() attributes {attn.stage = "imported"}

// -----

// expected-error@+1 {{attribute 'attn.buffers' is an array of dictionaries of a function}}
func.func private @buffers() attributes {attn.buffers = ["x"]}

// -----

// expected-error@+1 {{attribute 'attn.entri' is none that the attn dialect has for an op}}
func.func private @unknown() attributes {attn.entri}

// -----

// expected-error@+1 {{attribute 'attn.name' belongs to an argument or result of a function}}
func.func private @name_of_function() attributes {attn.name = "x"}

// -----

// expected-error@+1 {{attribute 'attn.name' of argument 1 must be a string that is not empty, found ""}}
func.func private @empty_name(tensor<4xf32> {attn.name = "x"}, tensor<4xf32> {attn.name = ""})

// -----

// expected-error@+1 {{attribute 'attn.name' of result 0 must be a string that is not empty, found 1 : i64}}
func.func private @number_as_name() -> (tensor<4xf32> {attn.name = 1 : i64})

// -----

// expected-error@+1 {{attribute 'attn.dims' of argument 0 must be an array of names of dims, found "n"}}
func.func private @dims_are_text(tensor<?xf32> {attn.dims = "n"})

// -----

// expected-error@+1 {{attribute 'attn.dims' of result 0 must be an array of names of dims, found [1]}}
func.func private @dims_are_numbers() -> (tensor<?xf32> {attn.dims = [1]})

// -----

// expected-error@+1 {{attribute 'attn.limit' of argument 0 must be a positive 64-bit integer, found 0 : i64}}
func.func private @no_limit(tensor<4xi32> {attn.limit = 0 : i64})

// -----

// expected-error@+1 {{attribute 'attn.limit' of result 0 belongs to arguments, not to results, found 4 : i64}}
func.func private @limit_of_result() -> (tensor<4xi32> {attn.limit = 4 : i64})

// -----

// expected-error@+1 {{attribute 'attn.window' of argument 0 must be a positive 64-bit integer, found 0 : i64}}
func.func private @no_window(!attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.window = 0 : i64})

// -----

// expected-error@+1 {{attribute 'attn.window' of result 0 belongs to arguments, not to results, found 4 : i64}}
func.func private @window_of_result() -> (!attn.kv_cache<1 x 1 x 32, block = 64, f32> {attn.window = 4 : i64})

// -----

// expected-error@+1 {{attribute 'attn.optional' of argument 0 must be a unit attribute, found true}}
func.func private @optional(tensor<4xi32> {attn.optional = true})

// -----

// expected-error@+1 {{attribute 'attn.dim' of argument 0 is none that the attn dialect has for an argument or result, found ["n"]}}
func.func private @unknown_of_argument(tensor<?xf32> {attn.dim = ["n"]})

// -----

func.func @moves(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{'arith.addf' op attribute 'attn.moves' is an array of polynomials}}
  %y = arith.addf %x, %x {attn.moves = 8 : i64} : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
