// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{a schedule's 'rows' must be from 1 to 2147483647, found 0}}
module attributes {attn.schedule = #attn.schedule<rows = 0>} {}

// -----

// expected-error@+1 {{a schedule's 'rows' must be from 1 to 2147483647, found 2147483648}}
module attributes {attn.schedule = #attn.schedule<rows = [14, 2147483648]>} {}

// -----

// expected-error@+1 {{a schedule's 'rows' must be from 1 to 2147483647, found -3}}
module attributes {attn.schedule = #attn.schedule<kernel = <rows = -3>>} {}

// -----

// expected-error@+1 {{a schedule has one 'rows', found another}}
module attributes {attn.schedule = #attn.schedule<rows = 14, rows = 8>} {}

// -----

// expected-error@+1 {{a schedule within a schedule may hold no third one, found 'tile'}}
module attributes {attn.schedule = #attn.schedule<kernel = <tile = <rows = 14>>>} {}

// -----

// expected-error@+1 {{expected integer value}}
module attributes {attn.schedule = #attn.schedule<rows = []>} {}

// -----

// expected-error@+1 {{expected valid keyword}}
module attributes {attn.schedule = #attn.schedule<rows = 14,>} {}

// -----

// expected-error@+1 {{attribute 'attn.schedule' is a #attn.schedule}}
module attributes {attn.schedule = 14 : i64} {}
