//===- EncoderMembers.cpp - config.json of encoders of texts ----------------===//
#include "lib/Import/Families/GGUF/Members.h"

using namespace rapt;
using namespace rapt::importing;

static constexpr MemberNames ofBert = {.keyHeads = "", .headDim = "", .epsilon = "layer_norm_eps"};

/// Rows of a table, which files of before 2025 may have fewer of than context_length says.
static void setRows(Translation &t, const char *member, std::string_view tensor) {
  if (const gguf::Tensor *table = t.file().find(tensor); table && table->dims.size() == 2)
    t.set(member, int64_t(table->dims.back()));
}

/// Classes come from cls.output of what cls makes of a token.
static void requirePooler(Translation &t) {
  if (t.has("cls.output.weight") && !t.has("cls.weight"))
    t.failOfTensor("cls.output.weight",
                   "without tensor \"cls.weight\", the model's pooler, which the converter left out: "
                   "give the Hugging Face directory");
}

/// bert, and roberta's kin, whose positions begin at 0 in files.
void importing::describeBert(Translation &t) {
  t.setEncoder("bert", "Bert", ofBert);
  setRows(t, "max_position_embeddings", "position_embd.weight");
  setRows(t, "type_vocab_size", "token_types.weight");
  requirePooler(t);
}

/// bert without types of tokens.
void importing::describeDistilBert(Translation &t) {
  t.setEncoder("distilbert", "DistilBert", {.inner = "hidden_dim", .keyHeads = "", .headDim = "", .epsilon = ""});
  t.pass("attention.layer_norm_epsilon"); // of one value
  setRows(t, "max_position_embeddings", "position_embd.weight");
  requirePooler(t);
}

void importing::describeNomicBert(Translation &t) {
  t.setEncoder("nomic_bert", "NomicBert", ofBert);
  setRows(t, "type_vocab_size", "token_types.weight");
  setRotary(t);
}

void importing::describeModernBert(Translation &t) {
  t.setEncoder("modernbert", "ModernBert", {.keyHeads = "", .headDim = "", .epsilon = "norm_eps"});
  t.pass("attention.layer_norm_rms_epsilon"); // of the same value
  t.set("global_rope_theta", t.number("rope.freq_base").value_or(160000));
  t.set("local_rope_theta", t.number("rope.freq_base_swa").value_or(10000));
  if (const std::string scaling = t.text("rope.scaling.type"); !scaling.empty() && scaling != "none")
    t.fail("rope.scaling.type", "\"" + json::printable(scaling, 40) + "\" is not supported for this architecture");
  t.set("local_attention", t.integer("attention.sliding_window", 1, mostWindow).value_or(128));
  t.set("global_attn_every_n_layers", t.integer("attention.sliding_window_pattern", 1, 1 << 17).value_or(3));
  if (const std::string activation = t.text("hidden_act"); !activation.empty())
    t.set("hidden_activation", activation);
  t.set("attention_bias", t.hasInLayers("attn_output.bias"));
  t.set("mlp_bias", t.hasInLayers("ffn_down.bias"));
  t.set("norm_bias", t.hasInLayers("ffn_norm.bias"));
  t.set("classifier_bias", t.has("cls.bias"));
  if (t.has("cls.output.weight")) {
    t.set("classifier_pooling", "mean");
    t.assume("classifier_pooling", "that classes come from the mean of the tokens, as in GTE's reranker: files do not "
                                   "say it; --config-key=classifier_pooling=cls takes the first token");
  }
}
