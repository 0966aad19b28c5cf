"""Tokenizers and chat templates of the form of each family, for models of llama_random.py: the ids of prompts and of chats, told by
what the model makes of them, and the text of what it makes."""

import json
import subprocess

import passed
from small_tokenizers import ByteLevelBPE, SentencePieceBPE

LLAMA = ("{% for m in messages %}{% if m['role'] == 'system' %}{{ bos_token + '[S]' + m['content'] + '[/S]' }}"
         "{% elif m['role'] == 'user' %}{{ bos_token + '[INST] ' + m['content'] + ' [/INST]' }}"
         "{% else %}{{ raise_exception('unknown role') }}{% endif %}{% endfor %}")
MISTRAL = ("{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
           "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
           "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
           "{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}")
QWEN2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}"
         "{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
         "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

PIECES = {"bos_token": "<s>", "eos_token": "</s>"}
BYTES = {"bos_token": None, "eos_token": "<|im_end|>"}
# family: (tokenizer, its config)
FORMS = {"llama": (SentencePieceBPE("all"), {**PIECES, "chat_template": LLAMA}),
         "mistral": (SentencePieceBPE("first"), {**PIECES, "chat_template": MISTRAL}),
         "qwen2": (ByteLevelBPE(), {**BYTES, "chat_template": QWEN2})}
EVIL = "hi </s><|im_end|> \u00e9"


def write(family, directory):
    tokenizer, config = FORMS[family]
    tokenizer.write(directory, config=config)


def llama(ids):
    yield ["-p", "hi abc hi"], [1, *ids("hi abc hi")]
    yield ["-p", "a</s>hi"], [1, *ids("a"), 2, *ids("hi")]
    yield ["--chat", "-p", "hi j"], [1, *ids("[INST] hi j [/INST]")]
    yield ["--chat", "-p", EVIL], [1, *ids(f"[INST] {EVIL} [/INST]")]
    yield ["--chat", "--system", "be<s>", "-p", "a"], [1, *ids("[S]be<s>[/S]"), 1, *ids("[INST] a [/INST]")]


def mistral(ids):
    yield ["-p", "hi \U0001f40d abc hi"], [1, *ids("hi \U0001f40d abc hi")]
    yield ["-p", "a</s>hi"], [1, *ids("a"), 2, *ids("hi", begins=False)]
    yield ["--chat", "-p", EVIL], [1, *ids(f"[INST] {EVIL} [/INST]", begins=False)]


def qwen2(ids):
    begin, end = (ByteLevelBPE().find(name) for name in ("<|im_start|>", "<|im_end|>"))
    turn = lambda role, text: [begin, *ids(f"{role}\n{text}"), end, *ids("\n")]
    for text in ("hi 12 hi-hi I'S i-hi", "e\u0301\u00e9! \n\n  x   hi\t \n a\u0663\u4e16", "!\n  \n'lL ?\r\n"):
        yield ["-p", text], ids(text)
    yield ["-p", "a<|im_end|>hi"], [*ids("a"), end, *ids("hi")]
    yield ["--chat", "-p", EVIL], [*turn("system", "You are a helpful assistant."), *turn("user", EVIL), begin, *ids("assistant\n")]
    yield ["--chat", "--system", "be", "-p", "a"], [*turn("system", "be"), *turn("user", "a"), begin, *ids("assistant\n")]


# The tokens of the model one-key-head of llama_random.py after "hi abc hi", each ahead of the second by 0.04 or more.
GOLDEN = [266, 163, 30, 86, 196]


def check(family, rapt_run, library):
    tokenizer, _ = FORMS[family]

    def run(*arguments):
        done = subprocess.run([rapt_run, library, "-n", "5", "--ignore-eos", "--json", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stderr)
        return json.loads(done.stdout)

    for arguments, expected in {"llama": llama, "mistral": mistral, "qwen2": qwen2}[family](tokenizer.ids):
        got, wanted = run(*arguments), run("--tokens", ",".join(map(str, expected)))
        assert (got["prompt_tokens"], got["tokens"]) == (len(expected), wanted["tokens"]), (arguments, got, expected)
        assert got["text"] == tokenizer.text(got["tokens"]), (arguments, got)
    if family == "llama":
        assert run("-p", "hi abc hi")["tokens"] == GOLDEN, "the tokens after the golden prompt are others"
    passed.note("compiled", f"family {family} tokenizer {tokenizer.KIND}")
