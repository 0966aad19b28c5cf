//===- Fields.h - Between a schedule's members and its attribute ------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::cpu {

/// Fills a schedule's members by their names; of an attribute that is not well-formed some stay as they were.
class ScheduleReader {
public:
  explicit ScheduleReader(attn::ScheduleAttr from) : from(from) {}

  void operator()(llvm::StringRef name, int64_t &value) {
    value = note(name, from.getNumber(name).value_or(0), /*isNeeded=*/true);
  }
  void operator()(llvm::StringRef name, std::optional<int64_t> &value) {
    value = from.getNumber(name);
    note(name, value.value_or(0), /*isNeeded=*/false);
  }
  void operator()(llvm::StringRef name, Sizes &value) {
    value = Sizes(from.getList(name));
    note(name, value.size(), /*isNeeded=*/false);
  }
  template <typename Nested> void operator()(llvm::StringRef name, Nested &value) {
    attn::ScheduleAttr inner = from.getNested(name);
    note(name, bool(inner), /*isNeeded=*/true);
    if (!inner)
      return;
    ScheduleReader reader(inner);
    value.visit(reader);
    if (std::string rest = reader.fault(); !rest.empty() && first.empty())
      first = rest + " in its '" + name.str() + "'";
  }

  /// The fault: a name that is missing or stands for something else, or one that the schedule does not have; empty:
  /// nothing.
  std::string fault() const;

private:
  /// `value`, whose name is one of the schedule.
  int64_t note(llvm::StringRef name, int64_t value, bool isNeeded);

  attn::ScheduleAttr from;
  llvm::SmallVector<llvm::StringRef> names;
  std::string first;
};

/// The attribute of a schedule: members that are none, or empty, have no name.
class ScheduleWriter {
public:
  explicit ScheduleWriter(mlir::MLIRContext *context) : b(context) {}

  void operator()(llvm::StringRef name, int64_t &value) { entries.append(name, b.getDenseI64ArrayAttr(value)); }
  void operator()(llvm::StringRef name, std::optional<int64_t> &value) {
    if (value)
      entries.append(name, b.getDenseI64ArrayAttr(*value));
  }
  void operator()(llvm::StringRef name, Sizes &value) {
    if (!value.empty())
      entries.append(name, b.getDenseI64ArrayAttr(value));
  }
  template <typename Nested> void operator()(llvm::StringRef name, Nested &value) {
    ScheduleWriter inner(b.getContext());
    value.visit(inner);
    entries.append(name, inner.get());
  }
  attn::ScheduleAttr get() { return attn::ScheduleAttr::get(b.getContext(), entries.getDictionary(b.getContext())); }

private:
  mlir::Builder b;
  mlir::NamedAttrList entries;
};

template <typename Schedule> attn::ScheduleAttr attributeOf(mlir::MLIRContext *context, Schedule schedule) {
  ScheduleWriter writer(context);
  schedule.visit(writer);
  return writer.get();
}

/// The schedule that a module has for `name`; none where it has none, or one that is not well-formed.
template <typename Schedule> std::optional<Schedule> moduleSchedule(mlir::ModuleOp module, llvm::StringRef name) {
  attn::ScheduleAttr all = module ? attn::ScheduleAttr::of(module) : attn::ScheduleAttr(),
                     mine = all ? all.getNested(name) : attn::ScheduleAttr();
  if (!mine)
    return std::nullopt;
  Schedule schedule;
  ScheduleReader reader(mine);
  schedule.visit(reader);
  return reader.fault().empty() ? std::optional(schedule) : std::nullopt;
}
inline constexpr llvm::StringLiteral kCopies = "copies", kElementwise = "elementwise", kRows = "rows";

/// The schedule of an op whose attribute was verified.
template <typename Schedule> Schedule scheduleOf(mlir::Operation *op) {
  Schedule schedule;
  if (attn::ScheduleAttr attribute = attn::ScheduleAttr::of(op))
    schedule.visit(ScheduleReader(attribute));
  return schedule;
}

/// The result of a tile op, which is scheduled as `kernel` says.
template <typename Op> mlir::Value withKernel(Op op, const MicroKernel &kernel) {
  op->setAttr(attn::AttnDialect::scheduleAttr, attributeOf(op.getContext(), kernel));
  return op->getResult(0);
}

} // namespace rapt::cpu
