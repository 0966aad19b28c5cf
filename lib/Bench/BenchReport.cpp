// Results as a table, as comma-separated values, or as JSON.
#include "lib/Bench/BenchRun.h"
#include "lib/Support/Json.h"
#include <cstdarg>
#include <cstdio>

namespace rapt::bench {
namespace {

[[gnu::format(printf, 1, 2)]] std::string text(const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

/// Seconds with a unit: "1.234 ms"; "-" without any.
std::string duration(double seconds) {
  if (seconds == 0)
    return "-";
  return seconds >= 1      ? text("%.3f s", seconds)
         : seconds >= 1e-3 ? text("%.3f ms", 1e3 * seconds)
                           : text("%.2f us", 1e6 * seconds);
}

double perSecond(const Result &r, double amount) { return r.seconds.empty() ? 0 : amount / r.median(); }

std::string noteOf(const Result &r) {
  std::string note = r.isDisturbed ? "disturbed" : "";
  if (!r.isResolved())
    note += note.empty() ? "unresolved" : ", unresolved";
  return note;
}

std::string markdown(const std::vector<Result> &results) {
  std::string table = "| what | threads | median | 10 % to 90 % | 99 % | rate | GFLOP/s | GB/s | limit | of the limit "
                      "| repetitions | peak memory | |\n"
                      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Result &r : results) {
    const bool reading = r.isBoundByReading;
    std::string limit =
        r.limitName.empty() ? "" : r.limitName + text(": %.1f %s", 1e-9 * r.limitRate, reading ? "GB/s" : "GFLOP/s");
    const double low = percentile(r.seconds, 0.1), high = percentile(r.seconds, 0.9), rate = perSecond(r, r.amount);
    std::string shown =
        r.unit.empty() ? text("%.1f /s", rate) : text("%.*f ", rate < 100 ? 2 : 0, rate) + r.unit + "/s";
    table += "| " + r.workload + text(" | %d | ", r.threads) + duration(r.median()) + " | " + duration(low) + " to " +
             duration(high) + " | " + duration(percentile(r.seconds, 0.99)) + " | " + shown +
             text(" | %.1f | %.1f | ", 1e-9 * perSecond(r, r.cost.flops), 1e-9 * perSecond(r, r.cost.bytes)) + limit +
             (r.limitName.empty() ? " | |" : text(" | %.0f %% |", 100 * r.share())) +
             text(" %zu of %zu | %.1f MB | ", r.undisturbed, r.repetitions, 1e-6 * double(r.peakMemory)) + noteOf(r) +
             " |\n";
  }
  return table;
}

struct Field {
  const char *name;
  json::Value value;
};

std::vector<Field> fieldsOf(const Result &r) {
  auto number = [](double value) { return json::Value(value); };
  return {{"workload", json::Value(r.workload)},
          {"threads", json::Value(int64_t(r.threads))},
          {"median_seconds", number(r.median())},
          {"p10_seconds", number(percentile(r.seconds, 0.1))},
          {"p25_seconds", number(percentile(r.seconds, 0.25))},
          {"p75_seconds", number(percentile(r.seconds, 0.75))},
          {"p90_seconds", number(percentile(r.seconds, 0.9))},
          {"p99_seconds", number(percentile(r.seconds, 0.99))},
          {"unit", json::Value(r.unit.empty() ? "runs" : r.unit)},
          {"units_per_second", number(perSecond(r, r.amount))},
          {"flops", number(r.cost.flops)},
          {"bytes", number(r.cost.bytes)},
          {"flops_per_second", number(perSecond(r, r.cost.flops))},
          {"bytes_per_second", number(perSecond(r, r.cost.bytes))},
          {"limit", json::Value(r.limitName)},
          {"limit_per_second", number(r.limitRate)},
          {"share_of_limit", number(r.share())},
          {"undisturbed", json::Value(uint64_t(r.undisturbed))},
          {"repetitions", json::Value(uint64_t(r.repetitions))},
          {"disturbed", json::Value(r.isDisturbed)},
          {"resolved", json::Value(r.isResolved())},
          {"peak_memory", json::Value(r.peakMemory)}};
}

/// A value of a comma-separated list: quoted where it is text.
std::string csvOf(const json::Value &value) {
  if (!value.isString())
    return json::write(value);
  std::string quoted = "\"";
  for (char c : *value.asString())
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv(const std::vector<Result> &results) {
  std::string lines;
  for (const Field &field : fieldsOf({}))
    lines += (lines.empty() ? "" : ",") + std::string(field.name);
  lines += "\n";
  for (const Result &r : results) {
    std::string line;
    for (const Field &field : fieldsOf(r))
      line += (line.empty() ? "" : ",") + csvOf(field.value);
    lines += line + "\n";
  }
  return lines;
}

std::string jsonOf(const std::vector<Result> &results) {
  json::Array list;
  for (const Result &r : results) {
    json::Object object;
    for (Field &field : fieldsOf(r))
      object.emplace_back(field.name, std::move(field.value));
    list.emplace_back(std::move(object));
  }
  return json::write(json::Value(std::move(list)), 1) + "\n";
}

} // namespace

std::string report(const std::vector<Result> &results, Format format) {
  return format == Format::JSON ? jsonOf(results) : format == Format::CSV ? csv(results) : markdown(results);
}

} // namespace rapt::bench
