// Checks that options of rapt-run go together and have something to act on. Tasks.def has those of each task.
#include "lib/Generation/CommandLine/Options.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Json.h"

namespace rapt::run {

/// Whether the options about sound go together.
static Status checkAudio(const Options &o) {
  if (!o.audio.empty() && o.prompts.size() > 1)
    return usage("--audio takes one --prompt, the text before the sound or around it");
  if (!o.audio.empty() && o.temperatureStep && o.temperature.value_or(0) > 1)
    return usage("--temperature-increment-on-fallback goes up to temperature 1");
  return {};
}

/// Whether what is asked about a text has one, and nothing that it does not go with.
static Status checkTextMode(const Options &o) {
  const bool isText = !o.prompts.empty() || o.promptFile;
  if (o.perplexity && !o.perplexityFile && o.hasWork() && (!isText || o.prompts.size() > 1 || !o.images.empty()))
    return usage("--perplexity takes one text: a file, --prompt or --file");
  if (o.tokenize && o.hasWork() && ((!isText && !o.tokens) || !o.images.empty() || !o.audio.empty()))
    return usage("--tokenize takes a text: --prompt, --file or --tokens");
  if (o.perplexity + o.tokenize + o.similarity + o.logprobs.has_value() > 1)
    return usage("only one of --perplexity, --tokenize, --similarity and --logprobs can be given");
  if (o.similarity && o.hasWork() && (!isText || !o.images.empty() || !o.audio.empty()))
    return usage("--similarity takes texts: --prompt or --file");
  if (o.chat && o.perplexity)
    return usage("--chat does not go with --perplexity");
  if (o.logprobs && o.beams)
    return usage("--logprobs does not go with --beams");
  return {};
}

Status checkOptions(const Options &o) {
  if (o.help || o.version)
    return {};
  if (o.library.empty() && o.reference.empty())
    return usage("no compiled model is named");
  bool tensors = !o.inputs.empty(), texts = !o.prompts.empty() || o.promptFile || o.tokens, images = !o.images.empty(),
       audio = !o.audio.empty(), vectors = !o.vectors.empty();
  // Images and sounds have a text around them, or labels, or what was said before.
  const bool media = images || audio, hasTextBeside = media && !o.tokens && o.prompts.empty() != !o.promptFile;
  const int ways = (!o.prompts.empty() + !!o.promptFile) + !!o.tokens + !!o.perplexityFile + tensors + media + vectors -
                   hasTextBeside;
  RAPT_RETURN_IF_ERROR(checkTextMode(o));
  if (ways > 1)
    return usage("only one of --prompt, --file, --tokens, --image, --audio, --vector, --perplexity and --input can be "
                 "given");
  if (tensors ? o.outputs.empty() : !o.outputs.empty() && !texts && !images)
    return usage("--input and --output go together");
  for (size_t i = 0; i < o.outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (o.outputs[i].second == o.outputs[j].second)
        return usage("--output: " + json::printable(o.outputs[j].first) + " and " +
                     json::printable(o.outputs[i].first) + " go to one file, " + json::printable(o.outputs[i].second));
  if (!o.attention.empty() && !texts && !images && !vectors)
    return usage("--attention-weights belongs to a prompt, an image or a vector");
  if (o.attention.empty() && !(o.attentionLayers.empty() && o.attentionHeads.empty()))
    return usage("--attention-layers and --attention-heads belong to --attention-weights");
  const bool isText = !o.prompts.empty() || o.promptFile;
  if ((o.question || o.pair) && (!isText || audio))
    return usage("--question and --pair need --prompt or --file");
  if (o.promptName && (!isText || audio))
    return usage("--prompt-name needs --prompt or --file");
  if (o.question && o.pair)
    return usage("--question and --pair do not go together");
  if (o.chat && o.raw)
    return usage("--chat and --raw exclude each other");
  if (o.converses)
    return checkTaskOptions(o);
  if (o.chat && !isText)
    return usage("--chat needs a message: --prompt, --file or the standard input; on a terminal it needs none");
  if (o.foldsReasoning)
    return usage("--think belongs to a conversation: --chat without a message, on a terminal");
  if (o.system && !o.chat)
    return usage("--system belongs to --chat");
  if (o.profile && (!o.reference.empty() || o.info ||
                    !(tensors || texts || images || audio || vectors || o.perplexityFile) || o.tokenize))
    return usage(
        "--profile belongs to a run of a compiled model: --prompt, --file, --tokens, --image, --audio, --vector, "
        "--perplexity or --input");
  if (o.threads.size() > 1 && (!tensors || o.profile || !o.reference.empty()))
    return usage("several numbers of --threads belong to --input, without --profile and --reference");
  if (!o.reference.empty() && !tensors)
    return usage("--reference needs --input and --output");
  if ((o.returns || o.lengthPenalty || o.earlyStopping) && !o.beams)
    return usage("--returns, --length-penalty and --early-stopping belong to --beams");
  if (o.beams && o.prompts.size() > 1)
    return usage("--beams takes one prompt");
  if (o.beams && (o.samples() || !o.stops.empty()))
    return usage("--beams does not go with sampling or --stop");
  if (o.beams && o.returns && *o.returns > *o.beams)
    return usage("--returns is " + std::to_string(*o.returns) + ", but there are " + std::to_string(*o.beams) +
                 " beams");
  if (o.stride && !o.perplexity)
    return usage("--stride belongs to --perplexity");
  if (!o.hasWork() && !o.info && !o.runOptions.empty())
    return usage(
        "--" + o.runOptions[0] +
        " needs something to run: --prompt, --file, --tokens, --image, --audio, --vector, --perplexity, --input, or a "
        "text on the standard input");
  RAPT_RETURN_IF_ERROR(checkAudio(o));
  return checkTaskOptions(o);
}

} // namespace rapt::run
