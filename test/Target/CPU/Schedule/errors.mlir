// RUN: rapt-opt %s --attn-cpu-tile --split-input-file --verify-diagnostics

// A schedule is user input: one that is missing or of another op, and a member that is impossible, is one error with its name.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{'attn.linear' op has no attn.schedule, which attn-cpu-schedule sets}}
    %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule that is no #attn_cpu.linear_schedule, found #attn_cpu.recurrence_schedule<kernel = <columns = 32, rows = 14>, rows = 8>}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.recurrence_schedule<kernel = <columns = 32, rows = 14>, rows = 8>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'rows' must be at most 8 numbers that fall from at most 64 to 1, found [14, 8]}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 8], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'rows' must be at most 8 numbers that fall from at most 64 to 1, found [8, 14, 1]}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [8, 14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'rows' must be at most 8 numbers that fall from at most 64 to 1, found [65, 1]}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [65, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'task_rows' must be a multiple of 14, the most of 'rows', and at most 1024, found 1036}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 1036, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'task_rows' must be a multiple of 14, the most of 'rows', and at most 1024, found 215}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 215, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'panels', which it needs only with 'depth'}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<panels = 4, rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule without 'panels', which it needs with 'depth'}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 32, rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'depth' must divide the depth 64, found 48}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 48, panels = 4, many_rows = 28, tasks = 8, finish = [8, 1], rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'depth' must divide the depth 64, found 64}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 64, panels = 4, many_rows = 28, tasks = 8, finish = [8, 1], rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'panels' must be from 1 to 32, found 33}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 32, panels = 33, many_rows = 28, tasks = 8, finish = [8, 1], rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'row_panels', but only VNNI-packed panels, those of f32 and f16 for rows of f32, and those of 4 bits in vectors of 32 bytes, are read side by side, with 'wide_rows' and one matrix}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<row_panels = 3, rows = [12, 1], task_rows = 216, tasks = 8, kernel = <columns = 16, rows = 6>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'row_panels', but only VNNI-packed panels}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<row_panels = 3, rows = [12, 1], task_rows = 216, tasks = 8, kernel = <columns = 16, rows = 6, wide_rows = 3>>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xbf16>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'row_panels', but only VNNI-packed panels}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<row_panels = 3, rows = [12, 1], task_rows = 216, tasks = 8, kernel = <columns = 16, rows = 6, wide_rows = 3>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'row_panels' must be from 1 to 4, found 5}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<row_panels = 5, rows = [12, 1], task_rows = 216, tasks = 8, kernel = <columns = 16, rows = 6, wide_rows = 3>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule without 'tasks', which it needs with 'depth' or 'row_panels'}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<row_panels = 3, rows = [12, 1], task_rows = 216, kernel = <columns = 16, rows = 6, wide_rows = 3>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64, vector_registers = 16 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'tasks', which it needs only with 'depth' or 'row_panels'}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [12, 1], task_rows = 216, tasks = 8, kernel = <columns = 16, rows = 6>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'pack_rows', but only rows of f32 are packed, with one matrix whose panels are not VNNI-packed}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<pack_rows = 14, rows = [14, 1], task_rows = 210, widen_rows = 56, kernel = <columns = 32, rows = 14, vnni_rows = 13>>, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf32>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'pack_rows' must be 14, the most of 'rows', found 7}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 32, panels = 4, many_rows = 28, tasks = 8, finish = [8, 1], pack_rows = 7, rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'finish' must be at most 8 numbers that fall from at most 64 to 1, found [8, 2]}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 32, panels = 4, many_rows = 28, tasks = 8, finish = [8, 2], rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'widen_rows', which it needs only where a VNNI-packed panel is widened for rows of f32, or one of 4 bits unpacked}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<widen_rows = 56, rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'rows' must be from 1 to 32, found 33}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 33>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'columns' must be 8, 16 or 32, and at most two of the target's vectors, 32, found 24}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 24, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'columns' must be 8, 16 or 32, and at most two of the target's vectors, 16, found 32}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'vnni_rows', which it needs only where VNNI-packed panels are widened}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14, vnni_rows = 13>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'group_rows', which it needs only for weights in quantized groups}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14, group_rows = 7>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'matrix_rows = 16', which is 16 for matmuls of bf16 or int8 on a target that multiplies tiles of them (amx_bf16, amx_int8)}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14, matrix_rows = 16>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

// A row-major weight of a bare kernel has no k blocks.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule with 'depth', but only packed panels of floats are taken in k blocks}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 32, panels = 4, many_rows = 28, tasks = 8, finish = [8, 1], rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

// A k block of a VNNI-packed weight has an even number of rows; such a weight may be widened.
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x66xf32>, %w: tensor<2x33x64xbf16>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'depth' must divide the depth 66 into whole pairs of rows, found 33}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<depth = 33, widen_rows = 56, panels = 4, many_rows = 28, tasks = 8, finish = [8, 1], rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x66xf32>, tensor<2x33x64xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x66xf32>, %w: tensor<2x33x64xbf16>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule without 'vnni_rows', which it needs where VNNI-packed panels are widened}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<widen_rows = 56, rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x66xf32>, tensor<2x33x64xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule, and the CPU has nothing to choose for it}}
    %y = attn.activation relu %x {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 1>} : tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %begin: tensor<?xi32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'rows' must be from 1 to 32, found 33}}
    %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) {attn.schedule = #attn_cpu.recurrence_schedule<rows = 33, kernel = <columns = 32, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<?xi32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'chains' must be 1, 2 or 4, found 3}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14, chains = 3>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'unroll' must be 2 or 4, found 3}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14, unroll = 3>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'wide_rows' must be from 1 to 32, found 33}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, rows = 14, wide_rows = 33>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'prefetch.tiles' must divide 16, found 6}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 6>, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'prefetch.steps' must be from 1 to 1024, found 1025}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, prefetch = <resident_bytes = 16384, steps = 1025, stream_bytes = 16384, stream_rows = 5, tiles = 8>, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>) -> tensor<?x64xf32> {
    // expected-error@+1 {{has a schedule whose 'prefetch.stream_bytes' must be from 1 to 1048576, found 1048577}}
    %y = attn.linear %x, %w {attn.schedule = #attn_cpu.linear_schedule<rows = [14, 1], task_rows = 210, kernel = <columns = 32, prefetch = <resident_bytes = 16384, steps = 8, stream_bytes = 1048577, stream_rows = 5, tiles = 8>, rows = 14>>, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}
