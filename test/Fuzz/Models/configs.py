"""Draws configurations of every family, as small as their quirks allow, and how a model of one is compiled."""

import random as randoms

TEXT_ACTIVATIONS = ("gelu", "gelu_new", "relu", "silu")
WIDTHS = (1, 8, 16, 20, 31, 32, 33, 48, 64, 77, 96, 100)
VOCABULARIES = (1, 2, 31, 32, 33, 61, 97, 211)


def heads_of(r, even=False):
    """(heads, channels of a head)"""
    return r.choice((1, 1, 2, 3, 4, 5)), r.choice((2, 4, 6, 16, 20, 32, 34, 64) if even else (1, 4, 7, 16, 20, 32, 33, 64))


def gpt2(r):
    heads, channels = heads_of(r)
    return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": r.choice(VOCABULARIES), "n_positions": r.choice((1, 17, 64, 150)),
            "n_embd": heads * channels, "n_layer": r.randint(1, 3), "n_head": heads, "n_inner": r.choice((None, 1, 8, 77, 128)),
            "activation_function": r.choice(TEXT_ACTIVATIONS), "layer_norm_epsilon": r.choice((1e-5, 1e-3)), "tie_word_embeddings": r.random() < 0.6,
            "scale_attn_weights": r.random() < 0.8, "scale_attn_by_inverse_layer_idx": r.random() < 0.3}


def rope_scaling(r):
    kind = r.choice((None, None, "linear", "llama3", "yarn"))
    if kind == "linear":
        return {"rope_type": "linear", "factor": r.choice((1.5, 4.0))}
    if kind == "llama3":
        return {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    if kind == "yarn":
        return {"rope_type": "yarn", "factor": r.choice((1.0, 4.0)), "beta_fast": 8.0, "original_max_position_embeddings": r.choice((16, 32))}
    return None


def llama(r, family="llama"):
    heads, channels = heads_of(r, even=True)
    config = {"model_type": family, "vocab_size": r.choice(VOCABULARIES), "hidden_size": r.choice((heads * channels, r.choice(WIDTHS))),
              "intermediate_size": r.choice(WIDTHS), "num_hidden_layers": r.randint(1, 3), "num_attention_heads": heads, "head_dim": channels,
              "num_key_value_heads": r.choice([n for n in range(1, heads + 1) if heads % n == 0]), "max_position_embeddings": r.choice((1, 20, 64, 130)),
              "rms_norm_eps": r.choice((1e-5, 1e-2)), "hidden_act": r.choice(("silu", "gelu", "relu")), "rope_theta": r.choice((100.0, 10000.0, 500000.0)),
              "tie_word_embeddings": r.random() < 0.4}
    if family == "llama":
        config.update(attention_bias=r.random() < 0.3, mlp_bias=r.random() < 0.3, rope_scaling=rope_scaling(r))
    return config


def mistral(r):
    return {**llama(r, "mistral"), "sliding_window": r.choice((None, 1, 7, 33, 64, 500))}


def qwen2(r):
    config = llama(r, "qwen2")
    del config["head_dim"]
    heads = config["num_attention_heads"]
    config["hidden_size"] = heads * r.choice((2, 6, 16, 32, 64))
    if r.random() < 0.5:
        config.update(use_sliding_window=True, sliding_window=r.choice((3, 9, 64)), max_window_layers=r.randint(0, config["num_hidden_layers"]))
    return config


def bert(r):
    heads, channels = heads_of(r)
    head = r.choice(("BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification", "BertForTokenClassification",
                     "BertForQuestionAnswering"))
    config = {"model_type": "bert", "architectures": [head], "vocab_size": r.choice(VOCABULARIES), "hidden_size": heads * channels,
              "num_hidden_layers": r.randint(1, 3), "num_attention_heads": heads, "intermediate_size": r.choice(WIDTHS), "hidden_act": r.choice(TEXT_ACTIVATIONS),
              "max_position_embeddings": r.choice((20, 70, 160)), "type_vocab_size": r.randint(1, 3), "layer_norm_eps": r.choice((1e-12, 1e-3))}
    if head.endswith("Classification"):
        config["num_labels"] = r.choice((1, 2, 7, 33))
    if head == "BertForMaskedLM":
        config["tie_word_embeddings"] = r.random() < 0.6
    return config


def vit(r):
    heads, channels = heads_of(r)
    patch = r.choice((1, 3, 5, 8))
    config = {"model_type": "vit", "architectures": [r.choice(("ViTModel", "ViTForImageClassification"))], "hidden_size": heads * channels,
              "num_hidden_layers": r.randint(1, 3), "num_attention_heads": heads, "intermediate_size": r.choice(WIDTHS), "hidden_act": r.choice(TEXT_ACTIVATIONS),
              "image_size": [patch * r.randint(1, 5), patch * r.randint(1, 5)], "patch_size": patch, "num_channels": r.choice((1, 3, 5)),
              "layer_norm_eps": r.choice((1e-12, 1e-3)), "qkv_bias": r.random() < 0.8}
    if config["architectures"] == ["ViTForImageClassification"]:
        config.update(num_labels=r.choice((1, 3, 33)), use_mean_pooling=r.random() < 0.3)
    return config


def t5(r, family="t5"):
    config = {"model_type": family, "architectures": ["T5ForConditionalGeneration" if family == "t5" else "MT5ForConditionalGeneration"],
              "vocab_size": r.choice(VOCABULARIES), "d_model": r.choice(WIDTHS), "d_kv": r.choice((1, 8, 16, 20, 32, 64)), "d_ff": r.choice(WIDTHS),
              "num_layers": r.randint(1, 3), "num_decoder_layers": r.randint(1, 3), "num_heads": r.randint(1, 5), "n_positions": 256,
              "relative_attention_num_buckets": r.choice((4, 13, 32, 64)), "relative_attention_max_distance": r.choice((40, 128, 200)),
              "feed_forward_proj": r.choice(("relu", "gelu", "gated-gelu", "gated-silu")) if family == "t5" else "gated-gelu",
              "layer_norm_epsilon": r.choice((1e-6, 1e-3)), "eos_token_id": 0, "pad_token_id": 0, "decoder_start_token_id": 0}
    config["tie_word_embeddings"] = r.random() < 0.5
    return config


def transformer(r):
    heads, channels = heads_of(r)
    share = r.random() < 0.5
    config = {"model_type": "transformer", "vocab_size": r.choice(VOCABULARIES), "d_model": heads * channels, "nhead": heads, "dim_feedforward": r.choice(WIDTHS),
              "num_encoder_layers": r.randint(1, 3), "num_decoder_layers": r.randint(1, 3), "activation": r.choice(("relu", "gelu")),
              "layer_norm_eps": r.choice((1e-5, 1e-2)), "norm_first": r.random() < 0.5, "final_norm": r.random() < 0.7, "scale_embedding": r.random() < 0.6,
              "tie_word_embeddings": r.random() < 0.5, "generator_bias": r.random() < 0.5, "n_positions": 256, "eos_token_id": 0, "pad_token_id": 0,
              "decoder_start_token_id": 0}
    config.update({"share_embeddings": True} if share else {"share_embeddings": False, "decoder_vocab_size": r.choice(VOCABULARIES)})
    return config


def recurrent(r):
    head = r.choice(("RecurrentForCausalLM", "RecurrentForSequenceClassification", "RecurrentForTokenClassification", "RecurrentModel"))
    config = {"model_type": "recurrent", "architectures": [head], "cell": r.choice(("rnn_tanh", "rnn_relu", "gru", "lstm")), "vocab_size": r.choice(VOCABULARIES),
              "hidden_size": r.choice(WIDTHS), "embedding_size": r.choice(WIDTHS), "num_layers": r.randint(1, 3), "bias": r.random() < 0.8, "max_length": 200}
    if head == "RecurrentForCausalLM" and r.random() < 0.3:
        config.update(tie_word_embeddings=True, embedding_size=config["hidden_size"])
    if head != "RecurrentForCausalLM":
        config["bidirectional"] = r.random() < 0.5
    if head == "RecurrentForSequenceClassification":
        config.update(num_labels=r.choice((1, 2, 33)), pooling=r.choice(("last", "mean", "max")))
    if head == "RecurrentForTokenClassification":
        config["num_labels"] = r.choice((1, 2, 33))
    return config


def recurrent_encoder_decoder(r):
    config = {"model_type": "recurrent-encoder-decoder", "architectures": ["RecurrentForConditionalGeneration"], "cell": r.choice(("rnn_tanh", "rnn_relu", "gru", "lstm")),
              "vocab_size": r.choice(VOCABULARIES[2:]), "hidden_size": r.choice(WIDTHS), "embedding_size": r.choice(WIDTHS), "encoder_hidden_size": r.choice(WIDTHS),
              "encoder_layers": r.randint(1, 3), "decoder_layers": r.randint(1, 3), "bidirectional": r.random() < 0.5, "bias": r.random() < 0.8, "bridge": "dense",
              "attention": r.choice(("none", "bahdanau", "luong_dot", "luong_general")), "decoder_start_token_id": 1, "eos_token_id": 2, "max_length": 200}
    if r.random() < 0.3:
        config["reverse_source"] = True
    if config["attention"] == "luong_dot":  # the memory has the decoder's size
        config.update(encoder_hidden_size=config["hidden_size"], bidirectional=False)
    if config["attention"].startswith("luong"):
        config["input_feeding"] = r.random() < 0.6
    if r.random() < 0.3:
        config["decoder_vocab_size"] = r.choice(VOCABULARIES[2:])
    elif r.random() < 0.5:
        config["share_embeddings"] = True
    return config


def feed_forward(r):
    config = {"model_type": "feed-forward", "architectures": ["FeedForwardForSequenceClassification"], "vocab_size": r.choice(VOCABULARIES), "max_length": 200,
              "embedding_size": r.choice(WIDTHS), "hidden_sizes": [r.choice(WIDTHS) for _ in range(r.randint(0, 2))], "num_labels": r.choice((1, 2, 33)),
              "activation": r.choice((*TEXT_ACTIVATIONS, "tanh")), "pooling": r.choice(("mean", "attention", "convolution"))}
    if config["pooling"] == "attention" and r.random() < 0.5:
        config["attention_size"] = r.choice(WIDTHS)
    if config["pooling"] == "convolution":
        config.update(kernel_sizes=[r.choice((1, 2, 3, 5, 16)) for _ in range(r.randint(1, 3))], num_filters=r.choice((1, 16, 33)))
    return config


def neural_probabilistic(r):
    config = {"model_type": "neural-probabilistic", "architectures": ["NeuralProbabilisticForCausalLM"], "vocab_size": r.choice(VOCABULARIES), "max_length": 200,
              "context_size": r.choice((1, 2, 3, 7)), "hidden_size": r.choice(WIDTHS), "embedding_size": r.choice(WIDTHS),
              "activation": r.choice((*TEXT_ACTIVATIONS, "tanh")), "direct_connections": r.random() < 0.5}
    if r.random() < 0.3:
        config.update(tie_word_embeddings=True, embedding_size=config["hidden_size"])
    return config


def mamba2(r):
    groups = r.randint(1, 3)
    low = r.choice((0.0, 0.0, 0.01))
    return {"model_type": "mamba2", "vocab_size": r.choice(VOCABULARIES), "hidden_size": r.choice(WIDTHS), "num_hidden_layers": r.randint(1, 3),
            "num_heads": groups * r.randint(1, 3), "head_dim": r.choice((1, 7, 16, 32, 33, 64)), "n_groups": groups, "state_size": r.choice((1, 8, 16, 31, 32, 64, 128)),
            "conv_kernel": r.randint(2, 5), "use_conv_bias": r.random() < 0.8, "use_bias": r.random() < 0.3, "time_step_limit": [low, r.choice((0.1, 2.0, float("inf")))],
            "max_position_embeddings": 200, "tie_word_embeddings": r.random() < 0.4, "layer_norm_epsilon": r.choice((1e-5, 1e-2))}


def kinds(r, layers, other):
    """The layers with attention and those with `other`, of each at least one where there are two layers."""
    drawn = [r.choice(("full_attention", other)) for _ in range(layers)]
    return drawn if layers == 1 or len(set(drawn)) > 1 else [other, "full_attention", *drawn[2:]]


def lfm2(r):
    heads, channels = heads_of(r, even=True)
    layers = r.randint(1, 4)
    return {"model_type": "lfm2", "vocab_size": r.choice(VOCABULARIES), "hidden_size": heads * channels, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": r.choice([n for n in range(1, heads + 1) if heads % n == 0]), "layer_types": kinds(r, layers, "conv"),
            "intermediate_size": r.choice(WIDTHS), "block_auto_adjust_ff_dim": r.random() < 0.5, "block_multiple_of": r.choice((1, 7, 32)),
            "max_position_embeddings": r.choice((20, 64, 130)), "conv_L_cache": r.randint(2, 5), "conv_bias": r.random() < 0.3, "norm_eps": r.choice((1e-5, 1e-2)),
            "rope_theta": r.choice((100.0, 1e6)), "tie_word_embeddings": r.random() < 0.6}


def qwen3_5(r):
    heads, channels = r.randint(1, 4), r.choice((8, 16, 40, 64))
    layers, keys = r.randint(1, 4), r.randint(1, 3)
    return {"model_type": "qwen3_5_text", "vocab_size": r.choice(VOCABULARIES), "hidden_size": r.choice(WIDTHS), "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": r.choice([n for n in range(1, heads + 1) if heads % n == 0]), "head_dim": channels,
            "layer_types": kinds(r, layers, "linear_attention"), "intermediate_size": r.choice(WIDTHS), "max_position_embeddings": r.choice((20, 64, 130)),
            "linear_num_key_heads": keys, "linear_num_value_heads": keys * r.randint(1, 3), "linear_key_head_dim": r.choice((1, 8, 31, 32, 64)),
            "linear_value_head_dim": r.choice((1, 7, 16, 32, 65)), "linear_conv_kernel_dim": r.randint(2, 5), "attention_bias": r.random() < 0.3,
            "rms_norm_eps": r.choice((1e-6, 1e-2)), "rope_theta": r.choice((100.0, 1e6)), "tie_word_embeddings": r.random() < 0.4}


def kimi_linear(r):
    """Decays of each channel, and attention to latent keys and values; without experts, which a rounding may choose otherwise."""
    layers, heads = r.randint(1, 4), r.randint(1, 4)
    attention = [layer for layer in range(1, layers + 1) if r.random() < 0.4]
    return {"model_type": "kimi_linear", "vocab_size": r.choice(VOCABULARIES), "hidden_size": r.choice(WIDTHS), "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": heads, "intermediate_size": r.choice(WIDTHS), "max_position_embeddings": 200, "model_max_length": 200, "kv_lora_rank": r.choice((1, 16, 20, 33, 64)),
            "q_lora_rank": None, "qk_nope_head_dim": r.choice((1, 10, 32)), "qk_rope_head_dim": r.choice((2, 6, 16)), "v_head_dim": r.choice((1, 9, 32)), "mla_use_nope": True,
            "linear_attn_config": {"num_heads": r.randint(1, 4), "head_dim": r.choice((1, 7, 16, 31, 32, 64)), "short_conv_kernel_size": r.randint(2, 5),
                                   "kda_layers": [layer for layer in range(1, layers + 1) if layer not in attention], "full_attn_layers": attention},
            "num_experts": None, "rms_norm_eps": r.choice((1e-6, 1e-2)), "tie_word_embeddings": r.random() < 0.4}


def falcon_h1(r):
    """A mixer of Mamba-2 beside attention in every layer."""
    heads, channels, groups = r.randint(1, 4), r.choice((2, 10, 16, 32, 64)), r.randint(1, 3)
    mixers, size = groups * r.randint(1, 3), r.choice((1, 7, 16, 32, 33))
    return {"model_type": "falcon_h1", "vocab_size": r.choice(VOCABULARIES), "hidden_size": r.choice(WIDTHS), "num_hidden_layers": r.randint(1, 3),
            "num_attention_heads": heads, "num_key_value_heads": r.choice([n for n in range(1, heads + 1) if heads % n == 0]), "head_dim": channels,
            "intermediate_size": r.choice(WIDTHS), "max_position_embeddings": 200, "mamba_n_heads": mixers, "mamba_d_head": size, "mamba_d_ssm": mixers * size,
            "mamba_n_groups": groups, "mamba_d_state": r.choice((1, 8, 31, 32, 64)), "mamba_d_conv": r.randint(2, 5), "mamba_rms_norm": r.random() < 0.5,
            "mamba_norm_before_gate": r.random() < 0.5, "mamba_conv_bias": r.random() < 0.8, "rope_theta": r.choice((100.0, 1e11)), "rms_norm_eps": r.choice((1e-5, 1e-2)),
            "key_multiplier": 0.4, "ssm_multipliers": [0.5, 0.7, 0.8, 1.3, 0.6], "ssm_out_multiplier": 0.6, "tie_word_embeddings": r.random() < 0.4}


def olmo_hybrid(r):
    """The gated delta rule, of betas up to 2, among layers without rotation."""
    heads, layers, keys = r.randint(1, 4), r.randint(1, 4), r.randint(1, 3)
    return {"model_type": "olmo_hybrid", "vocab_size": r.choice(VOCABULARIES), "hidden_size": heads * r.choice((8, 16, 20, 33)), "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": r.choice([n for n in range(1, heads + 1) if heads % n == 0]),
            "layer_types": kinds(r, layers, "linear_attention"), "intermediate_size": r.choice(WIDTHS), "max_position_embeddings": 200,
            "linear_num_key_heads": keys, "linear_num_value_heads": keys * r.randint(1, 3), "linear_key_head_dim": r.choice((1, 8, 31, 32, 64)),
            "linear_value_head_dim": r.choice((1, 7, 16, 32, 65)), "linear_conv_kernel_dim": r.randint(2, 5), "linear_allow_neg_eigval": r.random() < 0.8,
            "rope_parameters": None, "rms_norm_eps": r.choice((1e-6, 1e-2)), "tie_word_embeddings": r.random() < 0.4}


FAMILIES = {"bert": bert, "falcon_h1": falcon_h1, "feed-forward": feed_forward, "gpt2": gpt2, "kimi_linear": kimi_linear, "lfm2": lfm2, "llama": llama, "mamba2": mamba2, "mistral": mistral, "mt5": lambda r: t5(r, "mt5"), "neural-probabilistic": neural_probabilistic,
            "olmo_hybrid": olmo_hybrid, "qwen2": qwen2, "qwen3_5_text": qwen3_5, "recurrent": recurrent,
            "recurrent-encoder-decoder": recurrent_encoder_decoder, "t5": t5, "transformer": transformer, "vit": vit}
# The processors that a model is compiled for: raptc's options, and whether bf16 matmuls cast both operands there.
PROCESSORS = {"native": (["--mcpu=native"], None), "x86-64-v3": (["--mcpu=x86-64-v3"], False), "x86-64-v4": (["--mcpu=x86-64-v4"], False),
              "both": (["--mcpu=x86-64-v3,x86-64-v4"], False), "amx": (["--mcpu=native", "--emulate=amx"], True),
              "bf16": (["--mcpu=native", "--emulate=bf16"], True), "aarch64": (["--mtriple=aarch64-linux-gnu", "--mcpu=neoverse-n1"], False)}
CHANCES = {"native": 10, "x86-64-v3": 6, "x86-64-v4": 3, "both": 1, "amx": 2, "bf16": 2, "aarch64": 2}
GENERIC = 0.2  # of the cases are compiled by the generic target, for any of these processors


def has_cache(config):
    """Whether the model keeps keys and values."""
    if config["model_type"] == "recurrent-encoder-decoder":
        return config["attention"] != "none"
    if "layer_types" in config:
        return "full_attention" in config["layer_types"]
    if "linear_attn_config" in config:
        return bool(config["linear_attn_config"]["full_attn_layers"])
    return config["model_type"] not in ("bert", "mamba2", "vit", "recurrent", "feed-forward", "neural-probabilistic")


def is_decoder(config):
    return config["model_type"] in ("falcon_h1", "gpt2", "kimi_linear", "lfm2", "llama", "mamba2", "mistral", "olmo_hybrid", "qwen2", "qwen3_5_text") or config.get("architectures") in (
        ["RecurrentForCausalLM"], ["NeuralProbabilisticForCausalLM"])


def is_encoder_decoder(config):
    return config["model_type"] in ("t5", "mt5", "transformer", "recurrent-encoder-decoder")


def has_attention(config):
    return config["model_type"] not in ("kimi_linear", "mamba2", "recurrent", "feed-forward", "neural-probabilistic") and config.get("attention") != "none" and (
        "full_attention" in config.get("layer_types", ["full_attention"]))


def draw(seed, index, target=None):
    """Case `index` of a seed: each family in turn; `target` goes before the one that is drawn."""
    r = randoms.Random(f"model {seed} {index}")
    config = list(FAMILIES.values())[index % len(FAMILIES)](r)
    case = {"config": config, "seed": r.randint(1, 1 << 30), "processor": r.choices(list(CHANCES), list(CHANCES.values()))[0],
            "dtype": r.choice(("f32", "f32", "bf16", "f16")), "quantize": r.choice(("none", "none", "none", "w8a8", "w8", "w4")), "cache": None}
    if has_cache(config):
        case["cache"] = r.choice((None, "f32", "bf16", "f16", "int8"))
    case["group"] = r.choice((32, 32, 32, 32, 64, 128))
    case["zeros"] = case["quantize"] == "w4" and r.random() < 0.3
    case["lengths"] = [r.choice((1, 1, 2, 7, 13, 14, 15, 31, 33, 64, 65, 130)) for _ in range(r.randint(1, 4))]
    case["targets"] = [r.choice((1, 2, 5, 14, 33, 67)) for _ in case["lengths"]]
    drawn = "generic" if r.random() < GENERIC else "cpu"
    case["target"] = target or drawn
    case["attention"] = has_attention(config) and r.random() < 0.2
    own = randoms.Random(f"activations {seed} {index}")  # so that other draws stay what they were
    case["activations"] = own.choice(("bf16", "f16")) if own.random() < 0.25 else "f32"
    if case["cache"] and own.random() < 0.25:
        case["cache"] += "," + own.choice(("f32", "bf16", "f16", "int8"))  # of values
    return case


def flags(case):
    """raptc's options that say what the model is, not what it is compiled for."""
    chosen = [f"--random-weights={case['seed']}"]
    if case["cache"]:
        chosen.append(f"--cache-dtype={case['cache']}")
    chosen += [f"--activations={case['activations']}"] * (case["activations"] != "f32")
    return chosen + ["--attention-weights"] * case["attention"]


def compile_flags(case):
    of_processor = [option for option in PROCESSORS[case["processor"]][0] if case["target"] == "cpu" or not option.startswith("--emulate")]
    chosen = [*flags(case), f"--dtype={case['dtype']}", f"--target={case['target']}", *of_processor]
    if case["quantize"] != "none":
        chosen += [f"--quantize={case['quantize']}"]
        chosen += [f"--quantize-group={case['group']}"] * (case["quantize"] != "w8a8") + ["--quantize-zero-point"] * case["zeros"]
    return chosen


def smaller(case):
    """Simpler cases by one step, those that save most first; not all of them are models."""
    for name, plain in (("target", "cpu"), ("attention", False), ("activations", "f32"), ("processor", "native"), ("quantize", "none"), ("cache", None), ("dtype", "f32"), ("zeros", False), ("group", 32)):
        if case[name] != plain:
            yield {**case, name: plain, **({"zeros": False} if name == "quantize" else {})}
    for name in ("lengths", "targets"):
        if len(case[name]) > 1:
            for n in range(len(case[name])):
                yield {**case, "lengths": case["lengths"][:n] + case["lengths"][n + 1:], "targets": case["targets"][:n] + case["targets"][n + 1:]}
        for n, length in enumerate(case[name]):
            for less in sorted({1, length // 2, length - 1} & set(range(1, length))):
                yield {**case, name: [*case[name][:n], less, *case[name][n + 1:]]}
    for key, value in case["config"].items():
        if isinstance(value, bool):
            if value:
                yield {**case, "config": {**case["config"], key: False}}
        elif isinstance(value, int):
            for less in sorted({1, 2, 4, 16, 32, value // 2} & set(range(1, value))):
                yield {**case, "config": {**case["config"], key: less}}
        elif value is None or isinstance(value, dict):
            yield {**case, "config": {name: other for name, other in case["config"].items() if name != key}}
