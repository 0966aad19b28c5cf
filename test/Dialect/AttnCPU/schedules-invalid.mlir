// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// A member that is missing, unknown or there twice, and one of another form, are errors of the attribute.
// expected-error@+1 {{struct is missing required parameter: task_rows}}
module attributes {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], kernel = <columns = 32, rows = 14>>} {}

// -----

// expected-error@+1 {{struct is missing required parameter: kernel}}
module attributes {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210>} {}

// -----

// expected-error@+2 {{struct is missing required parameter: columns}}
// expected-error@+1 {{failed to parse AttnCPU_LinearScheduleAttr parameter 'kernel'}}
module attributes {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <rows = 14>>} {}

// -----

// expected-error@+1 {{duplicate or unknown struct parameter name: queries}}
module attributes {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, queries = 7, kernel = <columns = 32, rows = 14>>} {}

// -----

// expected-error@+2 {{expected integer value}}
// expected-error@+1 {{failed to parse AttnCPU_LinearScheduleAttr parameter 'task_rows'}}
module attributes {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = [210, 4], kernel = <columns = 32, rows = 14>>} {}

// -----

// expected-error@+2 {{expected '['}}
// expected-error@+1 {{failed to parse AttnCPU_LinearScheduleAttr parameter 'rows'}}
module attributes {attn.schedule = #attn_cpu.linear_schedule<rows = 14, task_rows = 210, kernel = <columns = 32, rows = 14>>} {}

// -----

// expected-error@+2 {{expected ','}}
// expected-error@+1 {{failed to parse AttnCPU_MicroKernelAttr parameter 'prefetch'}}
module attributes {attn.schedule = #attn_cpu.micro_kernel<columns = 32, rows = 14, prefetch = <steps = 8>>} {}

// -----

// expected-error@+2 {{expected a number of a schedule from 1 to 2147483647, found -3}}
// expected-error@+1 {{failed to parse AttnCPU_MicroKernelAttr parameter 'chains'}}
module attributes {attn.schedule = #attn_cpu.micro_kernel<columns = 32, rows = 14, chains = -3>} {}

// -----

// A part of a schedule is none.
// expected-error@+1 {{attribute 'attn.schedule' is a schedule}}
module attributes {attn.schedule = #attn_cpu.elementwise<rows = 2>} {}
