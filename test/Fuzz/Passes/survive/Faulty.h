//===- Faulty.h - A pass that fails, to see that faults are found --------------------*- C++ -*-===//
#pragma once

namespace survive {

/// Registers survive-test-fault, which aborts on modules with attn.linear, and fails without a message on those with
/// arith.addf.
void registerFaultyPass();

} // namespace survive
