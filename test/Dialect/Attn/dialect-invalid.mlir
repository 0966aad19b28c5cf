// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{attribute 'attn.stage' must be one of "imported", "canonical", "tiled", "backend", "llvm-dialect"}}
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

// expected-error@+1 {{attribute 'attn.entry' is a unit attribute of a function}}
func.func private @entry() attributes {attn.entry = true}

// -----

// expected-error@+1 {{attribute 'attn.model' is a dictionary of a module}}
module attributes {attn.model = "gpt2"} {
}

// -----

// expected-error@+1 {{attribute 'attn.target' is a dictionary of a module}}
func.func private @target() attributes {attn.target = {}}
