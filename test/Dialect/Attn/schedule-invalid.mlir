// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// expected-error@+2 {{expected a number of a schedule from 1 to 2147483647, found 0}}
// expected-error@+1 {{failed to parse Attn_LinalgTilesAttr parameter 'rows'}}
module attributes {attn.schedule = #attn.linalg_tiles<rows = 0, columns = 16>} {}

// -----

// expected-error@+2 {{expected a number of a schedule from 1 to 2147483647, found 2147483648}}
// expected-error@+1 {{failed to parse Attn_AppendTilesAttr parameter 'channels'}}
module attributes {attn.schedule = #attn.append_tiles<channels = 2147483648>} {}

// -----

// expected-error@+1 {{duplicate or unknown struct parameter name: rows}}
module attributes {attn.schedule = #attn.linalg_tiles<rows = 14, rows = 8>} {}

// -----

// expected-error@+1 {{expected ','}}
module attributes {attn.schedule = #attn.attention_tiles<queries = 14>} {}

// -----

// expected-error@+1 {{attribute 'attn.schedule' is a schedule}}
module attributes {attn.schedule = 14 : i64} {}
