//===- EncoderMembers.cpp - config.json of encoders of texts ----------------===//
#include "lib/Import/Families/GGUF/Members.h"

using namespace rapt;
using namespace rapt::importing;

static constexpr MemberNames ofBert = {.keyHeads = "", .headDim = "", .epsilon = "layer_norm_eps"};

/// The rows of a table count, whatever a key says.
static void setRows(Translation &t, const char *member, std::string_view tensor) {
  if (const gguf::Tensor *table = t.file().find(tensor); table && table->dims.size() == 2)
    t.set(member, int64_t(table->dims.back()));
}

/// Classes come from cls.output of what cls makes of a token; without its pooler a model's classifier has either name.
static void requirePooler(Translation &t) {
  const gguf::Tensor *pooler = t.file().find("cls.weight");
  const bool isSquare = pooler && pooler->dims.size() == 2 && int64_t(pooler->dims.back()) == t.sizes().width;
  constexpr const char *what =
      "a classifier without the model's pooler, which the converter left out: give the Hugging Face directory";
  if (pooler && !isSquare)
    t.failOfTensor("cls.weight", what);
  if (t.has("cls.output.weight") && !pooler)
    t.failOfTensor("cls.output.weight", what);
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
  setRows(t, "max_position_embeddings", "position_embd.weight");
  requirePooler(t);
}

void importing::describeNomicBert(Translation &t) {
  t.setEncoder("nomic_bert", "NomicBert", ofBert);
  setRows(t, "type_vocab_size", "token_types.weight");
  setRotary(t);
}

void importing::describeModernBert(Translation &t) {
  t.setEncoder("modernbert", "ModernBert", {.keyHeads = "", .headDim = "", .epsilon = ""});
  // One value by two names, of which a file has those that the configuration had.
  const std::optional<double> epsilon = t.number("attention.layer_norm_epsilon"),
                              other = t.number("attention.layer_norm_rms_epsilon");
  t.set("norm_eps", epsilon.value_or(other.value_or(1e-5)));
  t.set("global_rope_theta", t.number("rope.freq_base").value_or(160000));
  t.set("local_rope_theta", t.number("rope.freq_base_swa").value_or(10000));
  if (const std::string scaling = t.text("rope.scaling.type"); !scaling.empty() && scaling != "none")
    t.fail("rope.scaling.type", "\"" + json::printable(scaling, 40) + "\" is not supported for this architecture");
  t.set("local_attention", t.integer("attention.sliding_window", 1, mostWindow).value_or(128));
  t.set("global_attn_every_n_layers", t.integer("attention.sliding_window_pattern", 1, 1 << 17).value_or(3));
  if (const std::string activation = t.text("hidden_activation"); !activation.empty())
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

/// t5 and mt5, or with a bias of its own in each layer umt5.
void importing::describeT5(Translation &t) {
  const DecoderSizes &s = t.sizes();
  t.set("model_type", t.has("enc.blk.1.attn_rel_b.weight") ? "umt5" : "t5");
  t.set("d_model", s.width);
  t.set("d_kv", s.channels);
  t.set("d_ff", t.required("feed_forward_length", 1, mostInner));
  t.set("num_heads", s.heads);
  t.set("num_layers", s.layers);
  t.set("num_decoder_layers", t.integer("decoder_block_count", 1, mostLayers).value_or(s.layers));
  t.set("n_positions", t.required("context_length", 1, mostPositions));
  t.set("vocab_size", s.vocabulary);
  t.set("tie_word_embeddings", !t.has("output.weight"));
  t.set("feed_forward_proj", t.has("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu");
  t.set("relative_attention_num_buckets", t.integer("attention.relative_buckets_count", 4, 256).value_or(32));
  t.set("layer_norm_epsilon", t.number("attention.layer_norm_rms_epsilon").value_or(1e-6));
  t.pass("attention.layer_norm_epsilon"); // of the same value
  t.set("decoder_start_token_id", t.integer("decoder_start_token_id", 0, s.vocabulary - 1).value_or(0));
  t.setRoles();
}
