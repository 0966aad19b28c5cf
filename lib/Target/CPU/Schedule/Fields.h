//===- Fields.h - Reads and writes schedules as attributes ------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt::cpu {

/// Reads a schedule's members by name. Members that the attribute lacks, or has in another form, keep their values.
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

  /// Describes what is wrong with the attribute: a name is missing, unknown, or has another form; empty where nothing
  /// is.
  std::string fault() const;

private:
  /// Notes that `name` is a name of the schedule, and a fault where its value is missing; returns `value`.
  int64_t note(llvm::StringRef name, int64_t value, bool isNeeded);

  attn::ScheduleAttr from;
  llvm::SmallVector<llvm::StringRef> names;
  std::string first;
};

/// Writes a schedule as an attribute. Optional members without a value and empty lists are left out.
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

/// The schedule `name` of a module; nullopt where it is missing or not well-formed.
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

/// Sets the micro-kernel of a tile op; returns the op's result.
template <typename Op> mlir::Value withKernel(Op op, const MicroKernel &kernel) {
  op->setAttr(attn::AttnDialect::scheduleAttr, attributeOf(op.getContext(), kernel));
  return op->getResult(0);
}

} // namespace rapt::cpu
