"""The parts that train.py of the tutorial's models share (docs/Tutorial.md): the loop, rows of unequal lengths, and the files of a model directory."""

import argparse
import time

import saving
import torch

PAD, UNKNOWN, START, END = range(4)
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]


def padded(rows):
    """Rows of token ids, of unequal lengths, as one matrix, and the lengths."""
    rows = list(rows)
    lengths = torch.tensor([len(row) for row in rows])
    return torch.tensor([row + [PAD] * (int(lengths.max()) - len(row)) for row in rows]), lengths


def run(stack, embedded, lengths):
    """Outputs and last states of torch.nn.RNN, GRU or LSTM over rows of unequal lengths."""
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
    outputs, last = stack(packed)
    return torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)[0], last


def encoder(tokens):
    """A function from tokens to their ids."""
    ids = {token: i for i, token in enumerate(tokens)}
    return lambda some: [ids[token] for token in some]


def crossEntropy(logits, targets):
    """The mean over all targets that are no padding."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=PAD)


def fit(model, loss, steps, rate):
    """`steps` steps of Adam with a rate that rises to `rate` and falls to 0; loss() is that of a new batch."""
    optimizer, begin, total = torch.optim.Adam(model.parameters(), rate), time.time(), 0
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        schedule.step()
        total += value.item()
        if step % (steps // 10) == 0:
            print(f"step {step}: loss {total / (steps // 10):.4f}, {time.time() - begin:.0f} s", flush=True)
            total = 0
    model.eval()


def save(directory, name, value):
    saving.save(value, directory, name)


def saveModel(directory, config, model, **tokenizers):
    """config.json, model.safetensors of the model's state_dict, and NAME.json of each tokenizer."""
    saving.saveModel(model, config, directory, halves=False)
    for name, tokenizer in tokenizers.items():
        save(directory, name + ".json", tokenizer)


def tokenizer(tokens, separator):
    """tokenizer.json whose tokens are characters (separator "") or words (separator " "), SPECIAL first where the model has them."""
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, token in enumerate(tokens) if token in SPECIAL]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    characters = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "vocab": vocabulary, "merges": []}
    words = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"} if separator else None, "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False} if separator else {"type": "Fuse"},
            "model": words if separator else characters}


def arguments(description, *flags):
    """The flags of a command line; torch is set to one thread and a seed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, help_ in flags:
        parser.add_argument(flag, action="store_true", help=help_)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return parser.parse_args()
