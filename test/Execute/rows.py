"""The table of registry.py: which scripts run in which columns, every day and with `check --full`. The models of a script say themselves where they run.

A spec is a column and options of raptc for it: `cpu:mcpu=x86-64-v3`. Rows name the arguments of their script by the names of Tools.values."""

import dataclasses
import importlib

ANY, HOST = ("compiler",), ("compiler", "x86_64", "!sanitizers")  # features that lit has
UNINSTRUMENTED, WIDE = ("compiler", "!sanitizers"), (*HOST, "avx2")

MODELS = ("bert_random", "captioner_random", "deberta_random", "decoder_random", "encoder_random", "feed_forward_random", "gguf_random", "gpt2_random", "llama_random", "recorded_models",
          "recorded_modes", "recurrent_random", "stages_random", "t5_random", "text_composites", "transformer_random", "vit_random", "whole_texts")
CALLS = (("deberta_random", "formulas", "check_formulas"),)  # script, case, function


@dataclasses.dataclass(frozen=True)
class Row:
    script: str
    arguments: tuple
    daily: tuple
    full: tuple = ()
    requires: tuple = HOST
    label: str = ""  # of several rows of a script
    isKernels: bool = False
    noted: tuple = ("cpu", "evaluated")  # columns whose results are evidence
    environment: dict = dataclasses.field(default_factory=dict)
    namesTarget: bool = False  # the script tells raptc the target
    cost: float = 0

    def how(self, column, options):
        """The arguments of Case that are of this row."""
        target = [] if column == "cpu" else [f"target={column}"]
        given = tuple("=" + text for text in ("--options", *target, *options)) if self.isKernels and (target or options) else ()
        arch = {option.partition("=")[0]: option.partition("=")[2] for option in options}.get("gpu-arch", "")
        simulated = {"RAPT_SIMULATED_ARCH": "".join(filter(str.isdigit, arch))} if arch else {}
        arguments = tuple(argument.replace("{column}", column) for argument in self.arguments)
        return {"arguments": arguments + given, "isForTarget": column in ("generic", "cuda") and not self.isKernels and not self.namesTarget,
                "isNoted": column in self.noted, "environment": simulated | self.environment, "cost": self.cost}


def kernels(script, daily, full="", requires=HOST, more="", **others):
    """A script of kernels.py."""
    return Row(script, ("raptc", "reference", "clang", "scratch", *more.split()), tuple(daily.split()), tuple(full.split()), requires, isKernels=True, **others)


def programs(script, arguments, daily="cpu", full="", requires=HOST, **others):
    """A script that calls programs of the build."""
    return Row(script, tuple(arguments.split()), tuple(daily.split()), tuple(full.split()), requires, **others)


def parts(script, arguments, daily, names=(), flag="=--only", **others):
    """A script that runs the parts of itself that it is told, each of which is a case: of `names`, or of its CASES. Those whose names have `cuda` run on the
    simulated GPU; the script itself tells raptc the target."""
    names = list(names or importlib.import_module(script).CASES)
    assert set(names).issuperset(daily.split()), f"a daily part is none of {script}'s"
    for name in names:
        column = "cuda" if "cuda" in name else "cpu"
        when = (column, "") if name in daily.split() else ("", column)
        yield programs(script, f"{arguments} {flag} ={name}", *when, label=name, namesTarget=True, noted=("cpu", "cuda"), **others)


V3 = "cpu:mcpu=x86-64-v3"
HOPPER = "cuda:gpu-arch=sm_90a"
RUN, REFERENCE, RUNTIME = "raptc rapt-run", "raptc rapt-run rapt-reference", "raptc rapt-run runtime"

def scripts():
    return (*of_kernels(), *of_programs())


def of_kernels():
    return (
        kernels("additive", "cpu generic", "cuda"),
        kernels("attention", "cpu", f"{V3} generic"),
        kernels("attention_layouts", "cpu generic cuda"),
        kernels("attention_outputs", "cpu generic", V3, WIDE),
        kernels("attention_programs", HOPPER, "cuda", noted=()),
        kernels("attention_regions", "cpu", "generic"),
        kernels("attention_rules", f"cpu {V3} generic cuda", "", WIDE),
        kernels("attention_states", "cpu generic cuda", "", WIDE),
        kernels("bf16_attention", "cpu", "generic"),
        kernels("bf16_matmul", "cpu", "generic"),
        kernels("blocks", f"cpu {V3} generic", f"cuda {HOPPER}"),
        # Each plane of bits, scales of groups and blocks, offsets, and a table.
        kernels("blocks", "cuda", more="=--types =Q3_K =Q4_K =Q5_1 =Q8_0 =MXFP4 =--rows =3 =67", label="some"),
        kernels("cached_attention", "cpu generic", "cuda"),
        kernels("edges", "generic cuda", "", WIDE),  # edges.test has the CPU
        kernels("element_types", "", "generic", WIDE),  # element-types.test has the CPU
        kernels("experts", "cpu generic", "cuda"),
        kernels("head-matmuls", "cpu generic", "cuda"),
        kernels("in_place", "cpu generic cuda", "", WIDE),
        kernels("k_blocking", "cpu", "generic"),
        kernels("latent_attention", "cpu generic"),
        kernels("linear", f"generic cuda {HOPPER}:f32-matmul=3xtf32", "cuda:f32-matmul=tf32", noted=("generic",)),
        kernels("masks", "cpu", "generic", WIDE),
        kernels("neutral", "generic cuda", "cuda:f32-matmul=3xtf32", WIDE),  # neutral.test has the CPU
        kernels("norm", f"cpu generic cuda {HOPPER}"),
        kernels("onnx_states", "cpu generic"),
        kernels("operand-roles", "cpu", "generic", WIDE),
        kernels("pages", "cpu generic", V3),
        kernels("parameters", "cpu", "", WIDE),
        kernels("quantization", "cpu", f"generic cuda {HOPPER}"),
        kernels("quantized_limits", "cpu", requires=WIDE),
        # A kind of weights for each of two architectures.
        kernels("quantization", "cuda", more="=--only =w8", label="w8"),
        kernels("quantization", HOPPER, more="=--only =w4 =--rows =3 =211", label="w4"),
        kernels("query_counts", "cpu:mcpu=native:emulate=bf16", f"cpu:mcpu=native:emulate=amx cpu:mcpu=native {V3} generic", WIDE, cost=30),
        kernels("linear_attention", f"cpu {V3} generic cuda:f32-matmul=3xtf32", f"cuda {HOPPER}:f32-matmul=tf32"),
        kernels("linear_attention_examples", "cpu"),
        kernels("recurrence", f"cpu {V3} generic"),
        kernels("recurrent_model", "cpu", "generic"),
        kernels("rope", f"cpu {V3}", "generic cuda"),
        kernels("scalar_ops", "cpu cuda", "", WIDE, cost=20),
        kernels("second-pair", "cpu", f"{V3} generic", WIDE),
        kernels("short_conv", f"cpu {V3} generic", "cuda"),
        kernels("similarity", "cpu generic", "cuda"),
        kernels("sinks", "cpu generic", f"{V3} cuda", WIDE),
        kernels("token_entries", "generic cuda"),
        kernels("upstream", "cpu", "", WIDE),
        # Copies and matmuls as late as waits allow, thread blocks and warps in another order; and all at once.
        kernels("warpgroup_matmul", HOPPER, label="lazy", noted=(), environment={"RAPT_SIMULATED_ASYNC": "lazy", "RAPT_SIMULATED_SEED": "3"}),
        kernels("warpgroup_matmul", "", HOPPER, noted=()),
        kernels("zero_padding", "cpu", "generic", WIDE),
    )


def of_programs():
    return (
        programs("activations", REFERENCE + " models", full="generic cuda", requires=UNINSTRUMENTED),
        programs("adapters", REFERENCE),
        programs("attention_weights", REFERENCE + " =--limited", requires=UNINSTRUMENTED),
        programs("attention_weights", REFERENCE, label="unlimited", requires=("compiler", "sanitizers")),  # they take all addresses
        programs("attention_weights", REFERENCE, "", "generic cuda"),
        programs("bare-kernels", "={scratch}", requires=WIDE),
        programs("bare-kernels", "={scratch} =--target=generic", "generic", requires=WIDE),
        programs("bert_tasks", REFERENCE, full="generic cuda", requires=ANY),
        programs("bf16_cache", RUN + " reference =--model ={inputs}/grouped-layer.json scratch"),
        programs("bf16_cache", RUN + " reference =--model ={inputs}/grouped-layer.json scratch =--target =generic", "", "generic"),
        programs("captioner_states", REFERENCE + " runtime"),
        *parts("chosen_adapters", REFERENCE + " runtime", "gpt2 gpt_neox bert t5 whisper evaluator faults llama-cuda"),
        programs("date_translator", REFERENCE + " runtime", full="generic", requires=UNINSTRUMENTED),
        programs("evaluated_generation", REFERENCE, requires=UNINSTRUMENTED),
        programs("fp8", RUN),
        # One model with two prompts, and an encoder and an encoder-decoder.
        *parts("golden_models", RUNTIME, "bert-base t5-small", ("bert-base", "t5-small"), requires=UNINSTRUMENTED, flag="", cost=20),
        programs("golden_models", RUNTIME + " =gpt2-128 =gpt2-1000", label="gpt2", requires=UNINSTRUMENTED, cost=30),
        programs("golden_models", RUNTIME + " =gpt2-128 =gpt2-1000 =bert-base =t5-small", "", "generic"),
        *parts("image_adapters", REFERENCE, "vit swin llava faults"),
        programs("image_grids", RUNTIME, full="generic"),
        programs("image_grids", RUNTIME + " =--model =qwen3_vl", "", "cpu generic cuda", label="vl"),
        programs("image_grids", RUNTIME + " =--model =qwen3_5 =qwen3_vl_moe", "", "cpu", label="others"),
        programs("image_grids", "raptc rapt-reference =--model =qwen3_5-deep =qwen3_vl =qwen3_vl_moe =qwen3_vl_moe-rows", "evaluated"),
        programs("image_text", RUNTIME),
        *parts("image_squares", REFERENCE + " runtime", "tower evaluated"),
        *parts("image_types", RUN, "dinov3-activations-bf16"),
        *parts("prompt_sounds", REFERENCE, "tower"),
        programs("hybrid_states", REFERENCE + " runtime scratch", full="generic", requires=UNINSTRUMENTED),
        programs("languages", RUN),
        programs("mixed_cache", "raptc reference runtime scratch"),
        programs("mxfp4", "rapt-opt " + REFERENCE),
        programs("pairs", RUN),
        programs("quantized_models", "rapt-opt " + REFERENCE, full="generic cuda", requires=ANY),
        programs("quantized_perplexity", RUN, full="generic", requires=ANY),
        programs("rapt_profile", RUN + " models scratch", requires=ANY),
        programs("rapt_profile", RUN + " models scratch =--target ={column}", "", "generic cuda"),
        programs("recurrent_states", RUNTIME, full="generic", requires=UNINSTRUMENTED),
        programs("sentence_prompts", RUN, requires=ANY),
        programs("shape_captioner", RUNTIME, requires=UNINSTRUMENTED),
        *parts("sliding_windows", "raptc runtime scratch", "some-13 some-int8 all-64 generic-all weights cuda"),
        *parts("small_models", RUN, "led-digits two-spirals noisy-curve verse-writer mood-averager negation-reader dispatcher", requires=UNINSTRUMENTED),
        programs("speech", REFERENCE + " runtime"),
        programs("stale_cache", "raptc inputs scratch"),
        programs("stale_cache", "raptc inputs scratch =--target =generic", "", "generic"),
        programs("t5_generation", REFERENCE + " runtime", full="generic", requires=UNINSTRUMENTED),
        programs("task_rows", RUN + " =--model ={inputs}/deep-layer.json scratch", full="generic"),
        programs("text_parts", RUN),
        programs("text_parts", "raptc rapt-reference", "evaluated"),
        programs("tiny_gpt", RUN, full="generic", requires=ANY),
        programs("transcription", RUN, cost=30),
        programs("transformer_alone", RUN),
        programs("transformer_generation", RUNTIME, full="generic", requires=UNINSTRUMENTED),
        *parts("tutorial_models", RUN, "bracket-acceptor grammar-writer number-translator postfix-writer roman-reader word-tagger", requires=UNINSTRUMENTED, flag=""),
        programs("variants", REFERENCE + " =--model ={models}/tiny-gpt scratch", full="generic", requires=("avx2", *HOST)),
    )
