// Writes what the compiler would write beside the code of fake_artifact.c: the weight file and the manifest as a C
// string.
//   make_fake_model DIRECTORY  ->  DIRECTORY/fake-0000cafe.weights, DIRECTORY/fake_manifest.h
#include "lib/Runtime/Weights.h"
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using namespace rapt::runtime;

/// GPT-2's printable stand-in for a byte, as JSON text.
static std::string byteCharacter(int byte) {
  int shifted = 256;
  for (int b = 0; b <= byte; ++b) {
    bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    int character = plain ? b : shifted++;
    if (b < byte)
      continue;
    char text[16];
    snprintf(text, sizeof text, "\\u%04x", character);
    return text;
  }
  return {};
}

/// A byte-level tokenizer: one token a byte, and <|endoftext|> = 256.
static std::string tokenizer() {
  std::string vocabulary;
  for (int b = 0; b < 256; ++b)
    vocabulary += "\"" + byteCharacter(b) + "\":" + std::to_string(b) + ",";
  return "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{\"id\":256,\"content\":\"<|"
         "endoftext|>\","
         "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}],"
         "\"normalizer\":null,"
         "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":"
         "true},"
         "\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
         "\"use_regex\":true},\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_"
         "prefix\":null,"
         "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"vocab\":{" +
         vocabulary + "\"<|endoftext|>\":256},\"merges\":[]}}";
}

static void add(std::vector<char> &file, rapt_weights_header &header, const char *name, const void *data,
                size_t bytes) {
  rapt_weights_section &section = header.sections[header.section_count++];
  strcpy(section.name, name);
  section.offset = file.size();
  section.bytes = bytes;
  file.insert(file.end(), static_cast<const char *>(data), static_cast<const char *>(data) + bytes);
  file.resize((file.size() + RAPT_WEIGHTS_ALIGNMENT - 1) / RAPT_WEIGHTS_ALIGNMENT * RAPT_WEIGHTS_ALIGNMENT);
}

static bool write(const std::string &path, const void *data, size_t bytes) {
  FILE *file = fopen(path.c_str(), "wb");
  bool good = file && fwrite(data, 1, bytes, file) == bytes;
  return file && fclose(file) == 0 && good;
}

/// `text` with `to` in place of its only `from`.
static std::string replaced(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

/// A string of C; ' stands for a quote of C in the manifest.
static std::string definition(const char *name, const std::string &manifest) {
  std::string text = std::string("#define ") + name + " \"";
  for (char c : manifest)
    text += c == '"' ? "\\\"" : c == '\'' ? "\"" : std::string(1, c);
  return text + "\"\n";
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  rapt_weights_header header{};
  header.magic = RAPT_WEIGHTS_MAGIC;
  header.version = 1;
  std::vector<char> file(RAPT_WEIGHTS_ALIGNMENT);
  int32_t weights[16] = {42};
  add(file, header, "weights", weights, sizeof weights);
  std::string json = tokenizer();
  add(file, header, "tokenizer.json", json.data(), json.size());
  header.file_bytes = file.size();
  for (int i = 0; i < 16; ++i)
    header.interface_id[i] = uint8_t(i * 17);
  Id content = hashSections(file.data(), header);
  memcpy(header.content_id, content.bytes, 16);
  memcpy(file.data(), &header, sizeof header);

  Id interface;
  memcpy(interface.bytes, header.interface_id, 16);
  std::string manifest =
      R"({"rapt": {"version": "0.1.0", "abi": [1, 0]}, "name": "fake", "model": {"family": "gpt2", "task": "decoder", )"
      R"("layers": 1, "hidden": 2, "heads": 1, "kv_heads": 1, "head_dim": 2, "vocab": 257, "positions": 256, "parameters": 16, )"
      R"("source_dtype": "f32", "eos": [256]}, "interface_id": ")" +
      std::string(show(interface).text) + R"(", "content_id": ")" + show(content).text + R"(", "target": {"arch": ")" +
#if defined(__x86_64__)
      R"(x86_64", "cpu": "x86-64", "features": ["sse2"]}, )"
#else
      R"(aarch64", "cpu": "generic", "features": ["neon"]}, )"
#endif
      R"("bounds": {"tokens": 64, "rows": 8, "positions": 256}, "weights": {"file": "fake-0000cafe.weights", "bytes": 64, )"
      R"("size_of_file": )" +
      std::to_string(file.size()) +
      R"(}, "cache": {"layout": "fake-block8", "dtype": "i32", "block": 8, "block_bytes": 64, "bytes_per_token": 8}, )"
      R"("parameters": [], "entries": [{"name": "step", "dims": ["tokens", "rows", "wanted", "table", "blocks"], )"
      R"("bounds": [[0, 64], [1, 8], [0, 64], [1, 32], [1, 1048576]], "buffers": [)"
      R"({"name": "weights", "kind": "weights"}, {"name": "workspace", "kind": "workspace"}, {"name": "cache", "kind": "cache"}, )"
      R"({"name": "tokens", "kind": "input", "dtype": "i32", "shape": ["tokens"]}, )"
      R"({"name": "row_begin", "kind": "input", "dtype": "i32", "shape": ["rows+1"]}, )"
      R"({"name": "past", "kind": "input", "dtype": "i32", "shape": ["rows"]}, )"
      R"({"name": "block_table", "kind": "input", "dtype": "i32", "shape": ["rows", "table"]}, )"
      R"({"name": "want", "kind": "input", "dtype": "i32", "shape": ["wanted"]}, )"
      R"({"name": "logits", "kind": "output", "dtype": "f32", "shape": ["wanted", 257]}], )"
      R"("costs": {"counts": [{"name": "pairs", "kind": "pairs", "queries": "row_begin", "past": "past", "lower": -5, "upper": 1}, )"
      R"({"name": "keys", "kind": "keys", "queries": "row_begin", "past": "past", "lower": -5, "upper": 1}, )"
      R"({"name": "steps", "kind": "steps", "queries": "row_begin", "rows": 2}], "ops": [)"
      R"({"op": "insert", "name": "h.{layer}.w", "dtype": "f32", "layers": 3, "first_layer": 4, "layer_step": 2, )"
      R"("flops": [[2, "tokens", "tokens"], [7]], "weights": [[3, "steps"]], "cache": [[1, "keys"]], "activations": [[1, "tokens/2"]]}, )"
      R"({"op": "project", "flops": [[10, "pairs"]]}]}, "dispatches": [0, 1, -1]}]})";
  const std::string window = R"("bytes_per_token": 8, "window": ' FAKE_WINDOW_TEXT '})";
  const std::string all = replaced(manifest, R"("bytes_per_token": 8})", window);
  std::string mixed = replaced(
      manifest, R"("bytes_per_token": 8})",
      R"("bytes_per_token": 8}, "window_cache": {"layout": "fake-block8", "dtype": "i32", "block": 8, "block_bytes": 64, )" +
          window);
  mixed = replaced(mixed, R"("blocks"], )", R"("blocks", "window_blocks"], )");
  mixed = replaced(mixed, R"([1, 1048576]])", R"([1, 1048576], [1, 1048576]])");
  mixed = replaced(mixed, R"({"name": "logits")",
                   R"({"name": "window_cache", "kind": "cache"}, )"
                   R"({"name": "window_table", "kind": "input", "dtype": "i32", "shape": ["rows", "table"]}, )"
                   R"({"name": "logits")");
  const std::string text = definition("FAKE_MANIFEST", manifest) + definition("FAKE_WINDOW_MANIFEST", all) +
                           definition("FAKE_MIXED_MANIFEST", mixed);
  std::string directory = argv[1];
  return !write(directory + "/fake-0000cafe.weights", file.data(), file.size()) ||
         !write(directory + "/fake_manifest.h", text.data(), text.size());
}
