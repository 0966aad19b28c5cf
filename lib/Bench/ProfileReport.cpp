#include "lib/Bench/ProfileReport.h"
#include <algorithm>
#include <cstdio>

namespace rapt::bench {
namespace {

std::string textOf(const char *text) { return text ? text : ""; }

double secondsOf(const std::vector<OpTime> &rows) {
  double total = 0;
  for (const OpTime &row : rows)
    total += row.seconds;
  return total;
}

std::string layersOf(const OpSummary &row) {
  if (row.firstLayer < 0)
    return "";
  return row.firstLayer == row.lastLayer ? std::to_string(row.firstLayer)
                                         : std::to_string(row.firstLayer) + "-" + std::to_string(row.lastLayer);
}

std::string labelOf(const OpTime &row) {
  if (!row.op.empty())
    return row.op;
  return row.entry.empty() ? "(runtime around the entries)" : "(between dispatches)";
}

/// Cuts the middle of a long name.
std::string shortened(const std::string &name, size_t most) {
  return name.size() <= most ? name : name.substr(0, most / 2 - 1) + ".." + name.substr(name.size() - (most / 2 - 1));
}

void addLine(std::string &table, const std::string &entry, const std::string &op, const std::string &name,
             const std::string &layers, const OpTime &t, double all, double limit) {
  char line[512], share[16] = "";
  if (limit > 0 && t.seconds > 0)
    snprintf(share, sizeof share, "%.0f %%", 100 * limit / t.seconds);
  snprintf(line, sizeof line, "%-15s %-28s %-44s %-7s %7llu %10.3f %6.2f %10.3f %8.1f %10.2f %8.1f %7s\n",
           entry.c_str(), op.c_str(), shortened(name, 44).c_str(), layers.c_str(), (unsigned long long)t.calls,
           1e3 * t.seconds, all > 0 ? 100 * t.seconds / all : 0, 1e-9 * t.flops,
           t.seconds > 0 ? 1e-9 * t.flops / t.seconds : 0, 1e-6 * t.bytes(),
           t.seconds > 0 ? 1e-9 * t.bytes() / t.seconds : 0, share);
  table += line;
}

void add(OpTime &to, const OpTime &row) {
  to.calls += row.calls;
  to.seconds += row.seconds;
  to.flops += row.flops;
  to.weightBytes += row.weightBytes;
  to.cacheBytes += row.cacheBytes;
  to.activationBytes += row.activationBytes;
}

} // namespace

Outcome readProfile(rapt_context *context, std::vector<OpTime> &rows) {
  size_t count = 0;
  RAPT_RETURN_IF_ERROR(
      Outcome::of([&](char *text, size_t size) { return rapt_profile_read(context, nullptr, &count, text, size); }));
  std::vector<rapt_profile_row> read(count, sized<rapt_profile_row>());
  RAPT_RETURN_IF_ERROR(Outcome::of(
      [&](char *text, size_t size) { return rapt_profile_read(context, read.data(), &count, text, size); }));
  for (const rapt_profile_row &row : read)
    rows.push_back({textOf(row.entry) + (row.one_token ? ", 1 token" : ""), textOf(row.op), textOf(row.name), row.layer,
                    row.calls, row.seconds, textOf(row.dtype), row.flops, row.weight_bytes, row.cache_bytes,
                    row.activation_bytes});
  return {};
}

std::vector<OpSummary> sumLayers(const std::vector<OpTime> &rows) {
  std::vector<OpSummary> sums;
  for (size_t i = 0; i < rows.size(); ++i) {
    const OpTime &row = rows[i];
    // The layers of one op follow one another.
    bool isNext = i > 0 && row.layer > rows[i - 1].layer && rows[i - 1].layer >= 0 && row.entry == rows[i - 1].entry &&
                  row.op == rows[i - 1].op && row.name == rows[i - 1].name;
    if (!isNext)
      sums.push_back({row, row.layer, row.layer});
    else
      add(sums.back().total, row);
    sums.back().lastLayer = row.layer;
  }
  return sums;
}

LimitModel::LimitModel(const std::vector<OpTime> &rows, double weightsOfModel, Limits *limits) : limits(limits) {
  auto sumOf = [&](const std::string &entry, double OpTime::*bytes) {
    double sum = 0, runs = 1; // of which the entry's row without an op tells the number
    for (const OpTime &row : rows)
      if (row.entry == entry) {
        sum += row.*bytes;
        runs = row.op.empty() && row.calls > 1 ? double(row.calls) : runs;
      }
    return sum / runs;
  };
  for (const OpTime &row : rows)
    if (std::none_of(bytesOfRun.begin(), bytesOfRun.end(), [&](auto &made) { return made.first == row.entry; }))
      bytesOfRun.emplace_back(row.entry, std::min(sumOf(row.entry, &OpTime::weightBytes), weightsOfModel) +
                                             sumOf(row.entry, &OpTime::cacheBytes));
}

double LimitModel::secondsFor(const OpTime &row) const {
  if (!limits)
    return 0;
  double seconds = row.flops > 0 ? row.flops / limits->rate(row.dtype.empty() ? "f32" : row.dtype) : 0;
  if (const double bytes = row.weightBytes + row.cacheBytes; bytes > 0)
    for (const auto &[entry, ofRun] : bytesOfRun)
      if (entry == row.entry)
        seconds = std::max(seconds, bytes / limits->read(size_t(ofRun)));
  if (row.activationBytes > 0)
    seconds =
        std::max(seconds, row.activationBytes / double(std::max<uint64_t>(row.calls, 1)) /
                              limits->read(size_t(row.activationBytes / double(std::max<uint64_t>(row.calls, 1)))) *
                              double(row.calls));
  return seconds;
}

std::string LimitModel::describe() const {
  if (!limits)
    return "limits: those of GPUs are not measured; kernels were started one by one";
  std::string line = "limits:";
  char text[128];
  const RateKernel &kernel = limits->instructionFor("f32");
  snprintf(text, sizeof text, " %s %.1f GFLOP/s", kernel.name, 1e-9 * limits->rate("f32"));
  line += text;
  for (const auto &[entry, bytes] : bytesOfRun)
    if (bytes > 0) {
      snprintf(text, sizeof text, "; reading the %.1f MB of a run of %s %.1f GB/s", 1e-6 * bytes, entry.c_str(),
               1e-9 * limits->read(size_t(bytes)));
      line += text;
    }
  return line;
}

std::string profileTable(const std::vector<OpTime> &rows, double weightsOfModel, Limits *limits) {
  const double all = secondsOf(rows);
  const LimitModel model(rows, weightsOfModel, limits);
  char line[512];
  snprintf(line, sizeof line, "%-15s %-28s %-44s %-7s %7s %10s %6s %10s %8s %10s %8s %7s\n", "entry", "op", "weights",
           "layers", "calls", "ms", "%", "GFLOP", "GFLOP/s", "MB", "GB/s", "limit");
  std::string table = line;
  for (const OpSummary &row : sumLayers(rows))
    addLine(table, row.total.entry, labelOf(row.total), row.total.name, layersOf(row), row.total, all,
            model.secondsFor(row.total));
  OpTime total;
  for (const OpTime &row : rows)
    if (!row.op.empty())
      add(total, row);
  total.seconds = all;
  addLine(table, "", "all", "", "", total, all, 0);
  table += "\nby layer\n";
  std::vector<std::pair<std::string, OpTime>> layers;
  std::vector<double> least;
  for (const OpTime &row : rows) {
    if (row.layer < 0)
      continue;
    const std::string label = row.entry + " " + std::to_string(row.layer);
    size_t at = 0;
    while (at < layers.size() && layers[at].first != label)
      ++at;
    if (at == layers.size()) {
      layers.push_back({label, {}});
      layers[at].second.entry = row.entry;
      layers[at].second.layer = row.layer;
      least.push_back(0);
    }
    add(layers[at].second, row);
    least[at] += model.secondsFor(row);
  }
  for (size_t i = 0; i < layers.size(); ++i)
    addLine(table, layers[i].second.entry, "layer " + std::to_string(layers[i].second.layer), "", "", layers[i].second,
            all, least[i]);
  return table + model.describe() + "\n";
}

json::Value profileJson(const std::vector<OpTime> &rows, double weightsOfModel, Limits *limits) {
  const LimitModel model(rows, weightsOfModel, limits);
  json::Array list;
  for (const OpTime &row : rows)
    list.emplace_back(json::Object{{"entry", json::Value(row.entry)},
                                   {"op", row.op.empty() ? json::Value() : json::Value(row.op)},
                                   {"weights", row.name.empty() ? json::Value() : json::Value(row.name)},
                                   {"layer", row.layer < 0 ? json::Value() : json::Value(row.layer)},
                                   {"calls", json::Value(row.calls)},
                                   {"seconds", json::Value(row.seconds)},
                                   {"flops", json::Value(row.flops)},
                                   {"weight_bytes", json::Value(row.weightBytes)},
                                   {"cache_bytes", json::Value(row.cacheBytes)},
                                   {"activation_bytes", json::Value(row.activationBytes)},
                                   {"limit_seconds", limits ? json::Value(model.secondsFor(row)) : json::Value()}});
  return json::Value(json::Object{{"seconds", json::Value(secondsOf(rows))},
                                  {"limits", json::Value(model.describe())},
                                  {"rows", json::Value(std::move(list))}});
}

} // namespace rapt::bench
