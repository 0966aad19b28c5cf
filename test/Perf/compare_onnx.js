// compare_onnx.js FOLDER THREADS: ONNX Runtime's side of test/Perf/compare, with the protocol and numbers of compare_worker.h.
// A case is "onnx MODEL INPUT=TYPE:LIMIT:SHAPE ...": TYPE i64 with tokens below LIMIT, i32 with LIMIT everywhere, or f32 with array
// number LIMIT; or "texts MODEL VOCABULARY LEAST MOST COUNT BATCH": texts of compare_worker.h, sorted by length, BATCH of them padded to
// the longest at a time.
const fs = require("fs");
const readline = require("readline");
const ort = require("onnxruntime-node");

function tensor(text) {
  const [type, limit, shape] = text.split(":"), dims = shape ? shape.split("x").map(Number) : [];
  const count = dims.reduce((a, b) => a * b, 1), numbers = Array.from({ length: count }, (_, i) => i);
  if (type === "i32") return new ort.Tensor("int32", Int32Array.from(numbers, () => Number(limit)), shape === "" ? [] : dims);
  if (type === "i64")
    return new ort.Tensor("int64", BigInt64Array.from(numbers, (i) => (Number(limit) ? BigInt(((i + 1) * 7919) % Number(limit)) : 0n)), dims);
  return new ort.Tensor("float32", Float32Array.from(numbers, (i) => ((i * 7919 + Number(limit) * 104729) % 2048) / 1024 - 1), dims);
}

function batches(vocabulary, least, most, count, batch) {
  const length = (i) => least + Math.floor(((most - least) * ((i * 37) % count) ** 2) / (count - 1) ** 2);
  const sorted = Array.from({ length: count }, (_, i) => i).sort((a, b) => length(a) - length(b));
  const result = [];
  for (let begin = 0; begin < count; begin += batch) {
    const texts = sorted.slice(begin, begin + batch), longest = Math.max(...texts.map(length));
    const ids = new BigInt64Array(texts.length * longest), shares = new Float32Array(ids.length);
    texts.forEach((text, row) => {
      for (let i = 0; i < length(text); ++i) {
        ids[row * longest + i] = BigInt(((text * 512 + i + 1) * 7919) % vocabulary);
        shares[row * longest + i] = 1 / length(text);
      }
    });
    result.push({ texts, feeds: {
      input_ids: new ort.Tensor("int64", ids, [texts.length, longest]), shares: new ort.Tensor("float32", shares, [texts.length, 1, longest]),
      lengths: new ort.Tensor("int32", Int32Array.from(texts.map(length)), [texts.length]),
    } });
  }
  return result;
}

// A function that runs all batches and gives the rows of the texts in their order.
function runBatches(session, list, count) {
  return async () => {
    let all;
    for (const { texts, feeds } of list) {
      const rows = (await session.run(feeds)).y.data, width = rows.length / texts.length;
      all ??= new Float32Array(count * width);
      texts.forEach((text, row) => all.set(rows.subarray(row * width, (row + 1) * width), text * width));
    }
    return { y: { data: all } };
  };
}

async function main() {
  const cases = {};
  async function find(text) {
    if (cases[text]) return cases[text];
    const [kind, model, ...inputs] = text.split(" ");
    const session = await ort.InferenceSession.create(`${process.argv[2]}/${model}.onnx`, {
      executionProviders: ["cpu"], graphOptimizationLevel: "all", intraOpNumThreads: Number(process.argv[3]),
      interOpNumThreads: 1, executionMode: "sequential",
    });
    const numbers = inputs.map(Number);
    const feeds = kind === "onnx" && Object.fromEntries(inputs.map((input) => [input.split("=")[0], tensor(input.split("=")[1])]));
    const run = kind === "texts" ? runBatches(session, batches(...numbers), numbers[3]) : () => session.run(feeds);
    await run();
    await run();
    return (cases[text] = run);
  }
  console.log(`ONNX Runtime ${require("onnxruntime-node/package.json").version}, all graph optimizations`);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [what, argument, ...rest] = line.split(" ");
    let run;
    try {
      run = await find(rest.join(" "));
    } catch (error) {
      console.log(`lacks ${error.message.replace(/\s+/g, " ")}`);
      continue;
    }
    const runs = what === "time" ? Number(argument) : 1;
    const processor = process.cpuUsage();
    for (const begin = process.hrtime.bigint(); runs > 1 && process.hrtime.bigint() < begin + 5000000n;) await run();
    const wall = process.hrtime.bigint();
    let result;
    for (let i = 0; i < runs; ++i) result = await run();
    const took = Number(process.hrtime.bigint() - wall) / 1e9, used = process.cpuUsage(processor);
    if (what === "write") fs.writeFileSync(argument, Buffer.from(Object.values(result)[0].data.buffer));
    console.log(`${took} ${(used.user + used.system) / 1e6}`);
  }
}

main().catch((error) => { console.error(error.message); process.exit(1); });
