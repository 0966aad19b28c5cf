"""The model of config.json in PyTorch: its state_dict is the checkpoint. docs/Captioner.md has the equations."""

import json
import os

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "config.json"), encoding="utf-8") as file:
    CONFIG = json.load(file)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        c, channels = CONFIG, CONFIG["conv_channels"]
        words, width, hidden, keys, annotation = c["vocab_size"], c["embedding_size"], c["hidden_size"], c["attention_size"], channels[-1]
        sizes = zip((c["num_channels"], *channels), channels, c["conv_kernel"], c["conv_stride"], c["conv_padding"])
        self.convolutions = nn.ModuleList(nn.Conv2d(*size) for size in sizes)
        self.init_h_l0, self.init_c_l0 = nn.Linear(annotation, hidden), nn.Linear(annotation, hidden)
        self.embedding, self.decoder = nn.Embedding(words, width), nn.LSTM(width + annotation, hidden)
        dense = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.attention = nn.ModuleDict({"query": dense(hidden, keys), "key": dense(annotation, keys), "score": dense(keys, 1), "gate": nn.Linear(hidden, 1)})
        self.output = nn.ModuleDict({"state": dense(hidden, width), "context": dense(annotation, width)})
        self.lm_head = nn.Linear(width, words)

    def encode(self, x):
        """The annotations of pixels [batch, 3, 64, 64] with their keys, and the decoder's first state."""
        for convolution in self.convolutions:
            x = F.relu(convolution(x))
        grid = x.flatten(2).transpose(1, 2)
        mean = grid.mean(1)
        return (grid, self.attention["key"](grid)), (torch.tanh(self.init_h_l0(mean))[None], torch.tanh(self.init_c_l0(mean))[None])

    def step(self, token, state, source):
        """Logits, state and attention probabilities [batch, positions] after one token of each row."""
        (grid, keys), h, embedded = source, state[0][0], self.embedding(token)
        scores = self.attention["score"](torch.tanh(self.attention["query"](h)[:, None] + keys))[..., 0]
        alpha = torch.softmax(scores, 1)
        z = torch.sigmoid(self.attention["gate"](h)) * (alpha[:, None] @ grid)[:, 0]
        y, state = self.decoder(torch.cat([embedded, z], 1)[None], state)
        return self.lm_head(embedded + self.output["state"](y[0]) + self.output["context"](z)), state, alpha
