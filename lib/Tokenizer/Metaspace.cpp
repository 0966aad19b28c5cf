//===- Metaspace.cpp -------------------------------------------------------===//
#include "lib/Tokenizer/Metaspace.h"
#include "lib/Tokenizer/Splitting.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt {

Expected<MetaspaceOptions> readMetaspaceOptions(JsonFields &fields, const std::string &where) {
  MetaspaceOptions options;
  options.replacement = fields.string("replacement", "\u2581");
  if (options.replacement.empty() ||
      unicode::lengthOf(static_cast<unsigned char>(options.replacement[0])) != options.replacement.size())
    return Error{where + ".replacement: '" + json::printable(options.replacement) + "' is not one character"};
  options.split = fields.boolean("split", true);
  std::optional<bool> addPrefix = fields.optionalBoolean("add_prefix_space");
  std::string scheme = fields.string("prepend_scheme", addPrefix.value_or(true) ? "always" : "never");
  fields.value("str_rep"); // the replacement again, in files of old versions
  if (scheme == "always")
    options.prepend = PrependScheme::Always;
  else if (scheme == "first")
    options.prepend = PrependScheme::First;
  else if (scheme == "never")
    options.prepend = PrependScheme::Never;
  else
    return Error{where + ".prepend_scheme: '" + json::printable(scheme) + "' is none of always, first and never"};
  return options;
}

namespace {
class Metaspace final : public PreTokenizer {
public:
  explicit Metaspace(MetaspaceOptions given) : options(std::move(given)), mark(options.replacement) {}

  Status split(Piece piece, PieceSink sink) const override {
    static const Pattern blank(std::string(" "));
    size_t front = piece.front;
    RAPT_ASSIGN_OR_RETURN(std::string marked, blank.replace(piece.text, options.replacement, front, SIZE_MAX));
    const bool atStart = front > 0;
    bool prepend = options.prepend == PrependScheme::Always || (options.prepend == PrependScheme::First && atStart);
    if (prepend && !marked.starts_with(options.replacement)) {
      marked.insert(0, options.replacement);
      front += atStart ? options.replacement.size() : 0;
    }
    Piece whole = {marked, front};
    return options.split ? splitAt(mark, SplitBehavior::MergedWithNext, false, whole, sink) : sink(whole);
  }

private:
  MetaspaceOptions options;
  Pattern mark;
};
} // namespace

Status readMetaspace(JsonFields &fields, const std::string &where, PreTokenizerList &list) {
  RAPT_ASSIGN_OR_RETURN(MetaspaceOptions options, readMetaspaceOptions(fields, where));
  list.push_back(std::make_unique<Metaspace>(std::move(options)));
  return {};
}

} // namespace rapt
