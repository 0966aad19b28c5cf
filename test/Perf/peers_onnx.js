// peers_onnx.js MODEL.onnx THREADS PROMPT STEPS TURN: ONNX Runtime's side of test/Perf/compare, with the protocol and tokens of peers_worker.h.
// Keys and values stay in place: each tensor of the cache is an input and the preallocated output of the same run.
const fs = require("fs");
const readline = require("readline");
const ort = require("onnxruntime-node");

const [PROMPT, STEPS, TURN] = process.argv.slice(4).map(Number), CAPACITY = PROMPT + STEPS;
const VOCABULARY = 50257, LAYERS = 12, HEADS = 12, SIZE = 64;
const token = (position) => ((position + 1) * 7919) % VOCABULARY;

async function main() {
  const session = await ort.InferenceSession.create(process.argv[2], {
    executionProviders: ["cpu"], graphOptimizationLevel: "all", intraOpNumThreads: Number(process.argv[3]),
    interOpNumThreads: 1, executionMode: "sequential",
  });
  const cache = {}, logits = new ort.Tensor("float32", new Float32Array(VOCABULARY), [1, VOCABULARY]);
  for (let layer = 0; layer < LAYERS; ++layer)
    for (const part of ["key", "value"])
      cache[`${part}_${layer}`] = new ort.Tensor("float32", new Float32Array(HEADS * CAPACITY * SIZE), [1, HEADS, CAPACITY, SIZE]);
  const outputs = { logits };
  for (const name in cache) outputs[`present_${name}`] = cache[name];

  async function feed(position, count) {
    const ids = BigInt64Array.from({ length: count }, (_, i) => BigInt(token(position + i)));
    const positions = BigInt64Array.from({ length: count }, (_, i) => BigInt(position + i));
    await session.run({
      ...cache, ids: new ort.Tensor("int64", ids, [count]), positions: new ort.Tensor("int64", positions, [count]),
      last: new ort.Tensor("int32", Int32Array.of(position + count - 1), [1]),
      total: new ort.Tensor("int32", Int32Array.of(position + count), []),
    }, outputs);
    return logits.data;
  }

  console.log(`cache f32, capacity ${CAPACITY}, in place; graph optimizations: all`);
  let length = 0;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [word, path] = line.split(" ");
    const out = word === "logits" ? fs.openSync(path, "w") : null;
    const processor = process.cpuUsage();
    if (word === "decode") {
      if (length + TURN >= CAPACITY) length = PROMPT;
      await feed(length++, 1);
    }
    const wall = process.hrtime.bigint();
    if (word !== "decode") {
      const last = await feed(0, PROMPT);
      length = PROMPT;
      if (out !== null) fs.writeSync(out, last);
    }
    for (const end = word === "prefill" ? length : word === "decode" ? length + TURN : CAPACITY; length < end; ++length) {
      const last = await feed(length, 1);
      if (out !== null) fs.writeSync(out, last);
    }
    if (out !== null) fs.closeSync(out);
    const used = process.cpuUsage(processor);
    console.log(`${Number(process.hrtime.bigint() - wall) / 1e9} ${(used.user + used.system) / 1e6}`);
  }
}

main().catch((error) => { console.error(error.message); process.exit(1); });
