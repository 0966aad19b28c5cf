"""The whisper family (Radford et al. 2022) in float64 with numpy alone: independent of Rapt's code, written from the paper and from
PyTorch's definition of a convolution.

    model = whisper.Model(config, tensors);  hidden = model.encode(features);  logits = model.decode(tokens, hidden)

make(directory, config, seed) writes a random model as a model directory. As a program it compares itself with the record of the transformers
package: whisper.py
"""

import json
import math
import os
import sys

import numpy

import layers
import tensorfiles

SMALL = {
    "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 48, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 80, "decoder_ffn_dim": 72, "num_mel_bins": 8,
    "max_source_positions": 50, "max_target_positions": 40, "activation_function": "gelu", "tie_word_embeddings": True,
}


def shapes(config):
    """Tensor name -> (shape, kind, fan in)."""
    width, table = config["d_model"], {}

    def dense(name, out, count, hasBias=True):
        table[name + ".weight"] = ((out, count), "weight", count)
        if hasBias:
            table[name + ".bias"] = ((out,), "bias", 1)

    def norm(name):
        table[name + ".weight"], table[name + ".bias"] = ((width,), "norm", 1), ((width,), "bias", 1)

    for name, count in (("conv1", config["num_mel_bins"]), ("conv2", width)):
        table[f"model.encoder.{name}.weight"] = ((width, count, 3), "weight", 3 * count)
        table[f"model.encoder.{name}.bias"] = ((width,), "bias", 1)
    for side, positions in (("encoder", "max_source_positions"), ("decoder", "max_target_positions")):
        table[f"model.{side}.embed_positions.weight"] = ((config[positions], width), "embedding", 1)
        for layer in range(config[side + "_layers"]):
            path = f"model.{side}.layers.{layer}."
            for part in ("self_attn", "encoder_attn")[: 1 + (side == "decoder")]:
                for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    dense(f"{path}{part}.{name}", width, width, name != "k_proj")
                norm(f"{path}{part}_layer_norm")
            dense(path + "fc1", config[side + "_ffn_dim"], width)
            dense(path + "fc2", width, config[side + "_ffn_dim"])
            norm(path + "final_layer_norm")
        norm(f"model.{side}.layer_norm")
    table["model.decoder.embed_tokens.weight"] = ((config["vocab_size"], width), "embedding", 1)
    return table


def gelu(x):
    return x * 0.5 * (1 + numpy.vectorize(math.erf, otypes=[numpy.float64])(x / math.sqrt(2)))


class Model:
    def __init__(self, config, tensors):
        self.config = config
        self.tensors = {name: array.astype(numpy.float64) for name, array in tensors.items()}

    def dense(self, x, name):
        bias = self.tensors.get(name + ".bias")
        return x @ self.tensors[name + ".weight"].T + (0 if bias is None else bias)

    def norm(self, x, name):
        return layers.layerNorm(x, self.tensors[name + ".weight"], self.tensors[name + ".bias"], 1e-5)

    def convolve(self, x, name, stride):
        """x [channels, frames]: a window of three frames about every stride-th frame, zeros beyond the ends."""
        kernel, padded = self.tensors[name + ".weight"], numpy.pad(x, ((0, 0), (1, 1)))
        frames = range(0, x.shape[1], stride)
        return numpy.stack([numpy.einsum("oik,ik->o", kernel, padded[:, t : t + 3]) for t in frames], 1) + self.tensors[name + ".bias"][:, None]

    def attend(self, x, source, path, side, isCausal):
        count = self.config[side + "_attention_heads"]
        q, k, v = (layers.heads(self.dense(of, f"{path}.{name}_proj"), count) for of, name in ((x, "q"), (source, "k"), (source, "v")))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        return self.dense(layers.mix(layers.causal(scores) if isCausal else scores, v), path + ".out_proj")

    def stack(self, x, side, hidden=None):
        for layer in range(self.config[side + "_layers"]):
            path = f"model.{side}.layers.{layer}."
            y = self.norm(x, path + "self_attn_layer_norm")
            x = x + self.attend(y, y, path + "self_attn", side, hidden is not None)
            if hidden is not None:
                x = x + self.attend(self.norm(x, path + "encoder_attn_layer_norm"), hidden, path + "encoder_attn", side, False)
            x = x + self.dense(gelu(self.dense(self.norm(x, path + "final_layer_norm"), path + "fc1")), path + "fc2")
        return self.norm(x, f"model.{side}.layer_norm")

    def encode(self, features):
        """features [bins, frames]"""
        x = gelu(self.convolve(features.astype(numpy.float64), "model.encoder.conv1", 1))
        x = gelu(self.convolve(x, "model.encoder.conv2", 2)).T
        return self.stack(x + self.tensors["model.encoder.embed_positions.weight"], "encoder")

    def decode(self, tokens, hidden):
        """Logits behind each token."""
        table = self.tensors["model.decoder.embed_tokens.weight"]
        x = table[numpy.array(tokens)] + self.tensors["model.decoder.embed_positions.weight"][: len(tokens)]
        return self.stack(x, "decoder", hidden) @ table.T


def make(directory, config, seed, gain=1):
    """A large `gain` makes attention sharp, so that sounds and positions matter."""
    tensors = layers.draw(shapes(config), seed, bias=0.2 / gain)
    for name in tensors:
        if name.endswith(("q_proj.weight", "fc1.weight")):
            tensors[name] *= numpy.float32(gain)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    tensorfiles.write(os.path.join(directory, "model.safetensors"), tensors, "F32")
    return Model(config, tensors)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [os.path.join(here, "..", "transformers"), os.path.join(here, "..", "..", "Execute")]
    import recorded_models
    import weights

    recorded = recorded_models.read("whisper")
    model = Model(recorded["config"], {name: weights.tensor(name, shape) for name, shape in recorded["tensors"].items()})
    for case in recorded["cases"]:
        given, wanted = recorded_models.given(case["inputs"]), recorded_models.decoded(case["outputs"]["logits"])
        found = model.decode(given["decoder_input_ids"][0], model.encode(given["input_features"][0]))
        error = numpy.linalg.norm(found - wanted[0]) / numpy.linalg.norm(wanted[0])
        assert error < 1e-6, f"relative L2 {error:.1e}"
    print("whisper: as the transformers package")


if __name__ == "__main__":
    main()
