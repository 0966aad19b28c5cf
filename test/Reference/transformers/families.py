"""One tiny configuration of each family, with as many of the family's quirks as one configuration can have."""

import transformers


def ids(count, salt=0, vocabulary=61, low=3):
    """`count` token ids, none of them special."""
    return [low + (i * i * 7 + i * 13 + salt * 29) % (vocabulary - low) for i in range(count)]


FAMILIES = {}
V = 61
DECODER = dict(vocab_size=V, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
               max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
LENGTHS = (1, 7, 40)


def family(name, config, model, cases, outputs=("logits",), greedy=None):
    FAMILIES[name] = {"config": config, "model": model, "cases": cases, "outputs": outputs, "greedy": greedy}


def variant(name, of, **more):
    """The model `of` with `extra` tensors ({name: shape}) in its file, or with recorded `searches` (True)."""
    FAMILIES[name] = {**FAMILIES[of], **more}


def text(lengths=LENGTHS, batch=True):
    cases = [{"input_ids": [ids(count, count)]} for count in lengths]
    if batch:
        cases.append({"input_ids": [ids(9, 1), ids(9, 2)]})
    return cases


def decoder(name, config, model, lengths=LENGTHS, base=True, **keys):
    """`keys` on top of what most decoders call their sizes."""
    def make():
        return getattr(transformers, config)(**{**(DECODER if base else {}), **keys})

    family(name, make, model, text(lengths), greedy={"input_ids": [ids(11, 5)]})


SMALL = dict(vocab_size=V, bos_token_id=1, eos_token_id=2, pad_token_id=0)
decoder("gpt2", "GPT2Config", "GPT2LMHeadModel", base=False, **SMALL, n_embd=48, n_layer=3, n_head=4, n_positions=128, n_inner=80,
        scale_attn_by_inverse_layer_idx=True)
decoder("gpt_neo", "GPTNeoConfig", "GPTNeoForCausalLM", base=False, **SMALL, hidden_size=48, num_layers=4, num_heads=4,
        attention_types=[[["global", "local"], 2]], window_size=9, max_position_embeddings=128, intermediate_size=80)
decoder("gpt_neox", "GPTNeoXConfig", "GPTNeoXForCausalLM", rotary_pct=0.5, use_parallel_residual=True)
decoder("gpt_neox-sequential", "GPTNeoXConfig", "GPTNeoXForCausalLM", rotary_pct=1.0, use_parallel_residual=False, attention_bias=False,
        hidden_act="gelu_new")
decoder("gptj", "GPTJConfig", "GPTJForCausalLM", base=False, **SMALL, n_embd=48, n_layer=3, n_head=3, n_positions=128, rotary_dim=8,
        n_inner=80)
decoder("opt", "OPTConfig", "OPTForCausalLM", base=False, **SMALL, hidden_size=48, num_hidden_layers=3, ffn_dim=80, num_attention_heads=4,
        max_position_embeddings=128, word_embed_proj_dim=48)
decoder("opt-350m", "OPTConfig", "OPTForCausalLM", base=False, **SMALL, hidden_size=48, num_hidden_layers=3, ffn_dim=80,
        num_attention_heads=4, max_position_embeddings=128, word_embed_proj_dim=32, do_layer_norm_before=False)
decoder("llama", "LlamaConfig", "LlamaForCausalLM", rope_theta=500.0, attention_bias=True, mlp_bias=True)
ROPE = dict(rope_theta=10000.0, original_max_position_embeddings=32)
decoder("llama-llama3", "LlamaConfig", "LlamaForCausalLM", tie_word_embeddings=True, head_dim=32,
        rope_parameters={**ROPE, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0})
decoder("llama-linear", "LlamaConfig", "LlamaForCausalLM", rope_parameters={"rope_theta": 1000.0, "rope_type": "linear", "factor": 2.5})
decoder("llama-dynamic", "LlamaConfig", "LlamaForCausalLM", max_position_embeddings=32,
        rope_parameters={"rope_theta": 1000.0, "rope_type": "dynamic", "factor": 4.0})
decoder("llama-yarn", "LlamaConfig", "LlamaForCausalLM", head_dim=32,
        rope_parameters={**ROPE, "rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "beta_slow": 1.0})
decoder("mistral", "MistralConfig", "MistralForCausalLM", sliding_window=9, head_dim=16)
decoder("ministral", "MinistralConfig", "MinistralForCausalLM", sliding_window=9, head_dim=16,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"])
decoder("ministral3", "Ministral3Config", "Ministral3ForCausalLM", head_dim=16)
decoder("qwen2", "Qwen2Config", "Qwen2ForCausalLM", use_sliding_window=True, sliding_window=9, max_window_layers=1, tie_word_embeddings=True)
decoder("qwen3", "Qwen3Config", "Qwen3ForCausalLM", head_dim=16, tie_word_embeddings=True)
decoder("gemma", "GemmaConfig", "GemmaForCausalLM", head_dim=16, num_key_value_heads=1)
decoder("gemma2", "Gemma2Config", "Gemma2ForCausalLM", head_dim=16, sliding_window=9, query_pre_attn_scalar=24, attn_logit_softcapping=5.0,
        final_logit_softcapping=3.0)
decoder("gemma3", "Gemma3TextConfig", "Gemma3ForCausalLM", head_dim=16, sliding_window=9, query_pre_attn_scalar=24, num_hidden_layers=7)
decoder("phi", "PhiConfig", "PhiForCausalLM", partial_rotary_factor=0.5, qk_layernorm=True, num_key_value_heads=4)
decoder("phi3", "Phi3Config", "Phi3ForCausalLM", sliding_window=9)
decoder("phi3-longrope", "Phi3Config", "Phi3ForCausalLM", lengths=(1, 7, 24), hidden_size=64, max_position_embeddings=128,
        original_max_position_embeddings=32,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + i / 16 for i in range(8)],
                         "long_factor": [2.0 + i / 4 for i in range(8)], "original_max_position_embeddings": 32})
decoder("phi3-longrope-long", "Phi3Config", "Phi3ForCausalLM", lengths=(33, 60), hidden_size=64, max_position_embeddings=128,
        original_max_position_embeddings=32,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + i / 16 for i in range(8)],
                         "long_factor": [2.0 + i / 4 for i in range(8)], "original_max_position_embeddings": 32})
decoder("olmo", "OlmoConfig", "OlmoForCausalLM", clip_qkv=0.8)
decoder("olmo2", "Olmo2Config", "Olmo2ForCausalLM")
decoder("olmo3", "Olmo3Config", "Olmo3ForCausalLM", num_hidden_layers=4, sliding_window=9)
decoder("smollm3", "SmolLM3Config", "SmolLM3ForCausalLM", num_hidden_layers=4, no_rope_layer_interval=2)
decoder("granite", "GraniteConfig", "GraniteForCausalLM", embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5,
        attention_multiplier=0.2, attention_bias=True)
decoder("falcon-7b", "FalconConfig", "FalconForCausalLM", base=False, **SMALL, hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
        multi_query=True, parallel_attn=True, new_decoder_architecture=False, alibi=False, bias=False, max_position_embeddings=128,
        ffn_hidden_size=80)
decoder("falcon-new", "FalconConfig", "FalconForCausalLM", base=False, **SMALL, hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_kv_heads=2, parallel_attn=True, new_decoder_architecture=True, alibi=False, bias=True, max_position_embeddings=128,
        ffn_hidden_size=80)
decoder("falcon-alibi", "FalconConfig", "FalconForCausalLM", base=False, **SMALL, hidden_size=48, num_hidden_layers=3,
        num_attention_heads=4, multi_query=False, parallel_attn=False, alibi=True, bias=True, max_position_embeddings=128,
        ffn_hidden_size=80)
decoder("bloom", "BloomConfig", "BloomForCausalLM", base=False, **SMALL, hidden_size=48, n_layer=3, n_head=6,
        apply_residual_connection_post_layernorm=True)
decoder("mpt", "MptConfig", "MptForCausalLM", base=False, vocab_size=V, d_model=48, n_layers=3, n_heads=4, expansion_ratio=2,
        max_seq_len=128, attn_config={"attn_impl": "torch", "alibi": True, "alibi_bias_max": 8, "clip_qkv": 0.9})
decoder("stablelm", "StableLmConfig", "StableLmForCausalLM", partial_rotary_factor=0.5, use_qkv_bias=True, qk_layernorm=True)
decoder("stablelm-parallel", "StableLmConfig", "StableLmForCausalLM", partial_rotary_factor=0.5, use_parallel_residual=True)
decoder("starcoder2", "Starcoder2Config", "Starcoder2ForCausalLM", sliding_window=9, use_bias=True)
decoder("gpt_bigcode", "GPTBigCodeConfig", "GPTBigCodeForCausalLM", base=False, **SMALL, n_embd=48, n_layer=3, n_head=4, n_positions=128,
        n_inner=80, multi_query=True)
decoder("cohere", "CohereConfig", "CohereForCausalLM", logit_scale=0.25, use_qk_norm=True)
decoder("cohere2", "Cohere2Config", "Cohere2ForCausalLM", logit_scale=0.25, num_hidden_layers=4, sliding_window=9, head_dim=16)
decoder("glm4", "Glm4Config", "Glm4ForCausalLM", partial_rotary_factor=0.5, head_dim=16, attention_bias=True)
decoder("nemotron", "NemotronConfig", "NemotronForCausalLM", partial_rotary_factor=0.5)

MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32)
decoder("mixtral", "MixtralConfig", "MixtralForCausalLM", num_local_experts=5, num_experts_per_tok=2, sliding_window=9)
decoder("qwen2_moe", "Qwen2MoeConfig", "Qwen2MoeForCausalLM", **MOE, shared_expert_intermediate_size=40, mlp_only_layers=[1],
        norm_topk_prob=False)
decoder("qwen3_moe", "Qwen3MoeConfig", "Qwen3MoeForCausalLM", **MOE, norm_topk_prob=True, head_dim=16)
decoder("olmoe", "OlmoeConfig", "OlmoeForCausalLM", num_experts=6, num_experts_per_tok=3, clip_qkv=0.9)
decoder("granitemoe", "GraniteMoeConfig", "GraniteMoeForCausalLM", num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=3.0,
        attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=2.0)
decoder("gpt_oss", "GptOssConfig", "GptOssForCausalLM", num_local_experts=5, num_experts_per_tok=2, head_dim=16, sliding_window=9,
        num_hidden_layers=4)
MLA = dict(kv_lora_rank=24, q_lora_rank=20, qk_rope_head_dim=8, qk_nope_head_dim=12, v_head_dim=16, n_routed_experts=8, num_experts_per_tok=3,
           moe_intermediate_size=32, n_shared_experts=2, first_k_dense_replace=1, num_key_value_heads=4)
decoder("deepseek_v2", "DeepseekV2Config", "DeepseekV2ForCausalLM", **MLA, topk_method="group_limited_greedy", n_group=4, topk_group=2,
        routed_scaling_factor=1.5)
decoder("deepseek_v2-lite", "DeepseekV2Config", "DeepseekV2ForCausalLM", **{**MLA, "q_lora_rank": None}, topk_method="greedy")
decoder("deepseek_v3", "DeepseekV3Config", "DeepseekV3ForCausalLM", **MLA, n_group=4, topk_group=2, routed_scaling_factor=2.5,
        norm_topk_prob=True)

ENCODER = dict(vocab_size=V, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=64,
               pad_token_id=0)


def encoder(name, config, model, outputs=("logits",), base=True, cases=None, **keys):
    def make():
        return getattr(transformers, config)(**{**(ENCODER if base else {}), **keys})

    family(name, make, model, cases or text((1, 7, 33)), outputs)


PAIR = [{"input_ids": [ids(9, 3)], "token_type_ids": [[0] * 4 + [1] * 5]}]
encoder("bert", "BertConfig", "BertForMaskedLM", cases=text((1, 7, 33)) + PAIR)
encoder("bert-classifier", "BertConfig", "BertForSequenceClassification", num_labels=5)
encoder("bert-span", "BertConfig", "BertForQuestionAnswering", outputs=("start_logits", "end_logits"), cases=PAIR)
encoder("roberta", "RobertaConfig", "RobertaForMaskedLM", pad_token_id=1, type_vocab_size=1)
encoder("roberta-classifier", "RobertaConfig", "RobertaForSequenceClassification", pad_token_id=1, type_vocab_size=1, num_labels=5)
encoder("xlm-roberta", "XLMRobertaConfig", "XLMRobertaForMaskedLM", pad_token_id=1, type_vocab_size=1)
encoder("distilbert", "DistilBertConfig", "DistilBertForMaskedLM", base=False, vocab_size=V, dim=48, hidden_dim=80, n_layers=3, n_heads=4,
        max_position_embeddings=64)
encoder("electra", "ElectraConfig", "ElectraForMaskedLM", embedding_size=24)
encoder("electra-discriminator", "ElectraConfig", "ElectraForPreTraining", embedding_size=24)
encoder("albert", "AlbertConfig", "AlbertForMaskedLM", embedding_size=24, num_hidden_groups=1, inner_group_num=1)
encoder("mpnet", "MPNetConfig", "MPNetForMaskedLM", pad_token_id=1)
encoder("deberta-v2", "DebertaV2Config", "DebertaV2ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16,
        share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0, conv_kernel_size=0, legacy=True)
encoder("modernbert", "ModernBertConfig", "ModernBertForMaskedLM", local_attention=8, global_attn_every_n_layers=3, num_hidden_layers=4,
        cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2)
encoder("nomic_bert", "NomicBertConfig", "NomicBertModel", outputs=("last_hidden_state",))


def seq2seq(name, config, model, generate=True, low=3, **keys):
    def make():
        return getattr(transformers, config)(**keys)

    cases = [{"input_ids": [ids(count, count, low=low)], "decoder_input_ids": [ids(max(1, count - 2), 4, low=low)]} for count in (1, 7, 30)]
    family(name, make, model, cases, greedy={"input_ids": [ids(9, 6, low=low)]} if generate else None)


T5 = dict(vocab_size=V, d_model=48, d_kv=10, d_ff=80, num_layers=3, num_decoder_layers=2, num_heads=4, relative_attention_num_buckets=12,
          relative_attention_max_distance=20, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
seq2seq("t5", "T5Config", "T5ForConditionalGeneration", **T5)
seq2seq("t5-v1_1", "T5Config", "T5ForConditionalGeneration", **T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
seq2seq("mt5", "MT5Config", "MT5ForConditionalGeneration", **T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
seq2seq("umt5", "UMT5Config", "UMT5ForConditionalGeneration", **T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
BART = dict(vocab_size=V, d_model=48, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=80, decoder_ffn_dim=72, max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2,
            decoder_start_token_id=2)
seq2seq("bart", "BartConfig", "BartForConditionalGeneration", **BART, scale_embedding=True)
seq2seq("mbart", "MBartConfig", "MBartForConditionalGeneration", **BART, scale_embedding=True)
seq2seq("pegasus", "PegasusConfig", "PegasusForConditionalGeneration",
        **{**BART, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}, scale_embedding=True)
seq2seq("marian", "MarianConfig", "MarianMTModel", low=1,
        **{**BART, "pad_token_id": V - 1, "eos_token_id": 0, "decoder_start_token_id": V - 1}, scale_embedding=True,
        activation_function="swish")
seq2seq("m2m_100", "M2M100Config", "M2M100ForConditionalGeneration", **BART, scale_embedding=True)


WHISPER = dict(vocab_size=V, num_mel_bins=8, d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=80, decoder_ffn_dim=72, max_source_positions=30, max_target_positions=40,
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
family("whisper", lambda: transformers.WhisperConfig(**WHISPER), "WhisperForConditionalGeneration",
      [{"input_features": {"shape": [1, 8, 60]}, "decoder_input_ids": [ids(n, n)]} for n in (1, 7)], ("logits",))

PICTURE = {"pixel_values": {"shape": [2, 3, 32, 32]}}
VISION = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80, image_size=32, patch_size=8)
family("vit", lambda: transformers.ViTConfig(**VISION, num_labels=5), "ViTForImageClassification", [PICTURE], ("logits",))
family("deit", lambda: transformers.DeiTConfig(**VISION, num_labels=5), "DeiTForImageClassificationWithTeacher", [PICTURE], ("logits",))
family("beit", lambda: transformers.BeitConfig(**VISION, num_labels=5, use_relative_position_bias=True), "BeitForImageClassification",
      [PICTURE], ("logits",))
family("dinov2", lambda: transformers.Dinov2Config(**{**VISION, "mlp_ratio": 2}), "Dinov2Model", [PICTURE],
      ("last_hidden_state", "pooler_output"))
family("dinov2-swiglu", lambda: transformers.Dinov2Config(**{**VISION, "mlp_ratio": 2}, use_swiglu_ffn=True), "Dinov2Model", [PICTURE],
      ("last_hidden_state",))
family("dinov3_vit", lambda: transformers.DINOv3ViTConfig(**VISION, num_register_tokens=2), "DINOv3ViTModel", [PICTURE],
      ("last_hidden_state", "pooler_output"))
family("swin", lambda: transformers.SwinConfig(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4,
                                              num_labels=5), "SwinForImageClassification", [PICTURE], ("logits",))
family("convnext", lambda: transformers.ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], image_size=32, num_labels=5),
      "ConvNextForImageClassification", [PICTURE], ("logits",))
TEXT = dict(vocab_size=V, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16,
            bos_token_id=1, eos_token_id=60, pad_token_id=0)
PAIRS = [{"input_ids": [ids(8, 1)[:-1] + [60], ids(8, 2)[:-1] + [60]], **PICTURE}]
PAIR_OUTPUTS = ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds")
family("clip", lambda: transformers.CLIPConfig(text_config=TEXT, vision_config=VISION, projection_dim=24), "CLIPModel", PAIRS, PAIR_OUTPUTS)
family("siglip", lambda: transformers.SiglipConfig(text_config={**TEXT, "projection_size": 48}, vision_config=VISION), "SiglipModel", PAIRS,
      PAIR_OUTPUTS)
LLAVA_IDS = [1, 5, 6] + [60] * 16 + [7, 8, 9]
family("llava", lambda: transformers.LlavaConfig(text_config=transformers.LlamaConfig(**DECODER),
                                                vision_config=transformers.CLIPVisionConfig(**VISION), image_token_index=60,
                                                vision_feature_select_strategy="default", vision_feature_layer=-2),
      "LlavaForConditionalGeneration", [{"input_ids": [LLAVA_IDS], "pixel_values": {"shape": [1, 3, 32, 32]}}], ("logits",))

# A tied head that is stored with other values, as fine-tuned models of the t5 family have it.
variant("gpt2-own-head", "gpt2", extra={"lm_head.weight": [V, 48]})
variant("llama-own-head", "llama-llama3", extra={"lm_head.weight": [V, 48]})
variant("qwen2-own-head", "qwen2", extra={"lm_head.weight": [V, 48]})
variant("t5-own-head", "t5", extra={"lm_head.weight": [V, 48]})
variant("t5-v1_1-own-head", "t5-v1_1", extra={"lm_head.weight": [V, 48]})
variant("mt5-own-head", "mt5", extra={"lm_head.weight": [V, 48]})
variant("bert-own-head", "bert", extra={"cls.predictions.decoder.weight": [V, 48]})
for searched in ("gpt2", "llama", "mistral", "t5", "t5-v1_1", "bart"):
    variant(searched, searched, searches=True)
