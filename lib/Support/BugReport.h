//===- BugReport.h - The text that tools print above the stack of a crash ------------------*- C++ -*-===//
#pragma once

namespace rapt {

/// For llvm::setBugReportMsg, whose default sends users to the bug tracker of LLVM.
inline constexpr char kBugReport[] =
    "this is a bug of Rapt; please report it to the Rapt project, with the input, the command and this text:\n";

} // namespace rapt
