// BullMQ, results kept (its default). `bullmq.cjs work CONCURRENCY` or `bullmq.cjs push|push_many|push_long|latency|paced_200|paced_1000 TASK COUNT BUDGET`, as produce.py.
const fs = require("node:fs");
const { Queue, Worker } = require("bullmq");

const url = new URL(process.env.BENCH_URL);
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
const WARM_UP = 20, CHUNK = 1000, LONG = "x".repeat(200);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const now = () => process.hrtime.bigint();

function work(concurrency) {
  const file = fs.openSync(process.env.BENCH_MARKS, "a", 0o600);
  const bytes = Buffer.alloc(24);
  const mark = (number, begun, ended) => {
    bytes.writeUInt32LE(number, 0);
    bytes.writeUInt32LE(process.pid, 4);
    bytes.writeBigInt64LE(begun, 8);
    bytes.writeBigInt64LE(ended, 16);
    fs.writeSync(file, bytes);
  };
  const run = async (job) => {
    const begun = now();
    if (job.name === "nap") await sleep(10);
    mark(job.data.number, begun, job.name === "nap" ? now() : begun);
    return job.data.number;
  };
  new Worker("bench", run, { connection, concurrency });
}

async function push(queue, task, count, budget) {
  let pushed = Math.min(WARM_UP, count), spent = 0;
  for (let number = 0; number < pushed; number++) await queue.add(task, { number });
  const begun = now();
  while (pushed < count && spent < budget) {
    await queue.add(task, { number: pushed++ });
    spent = Number(now() - begun) / 1e9;
  }
  return { pushed, rate: spent ? (pushed - WARM_UP) / spent : 0 };
}

async function pushMany(queue, task, count) {
  await queue.add(task, { number: 0 });
  const begun = now();
  for (let first = 1; first < count; first += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, count - first) }, (_, index) => first + index);
    await queue.addBulk(numbers.map((number) => ({ name: task, data: { number } })));
  }
  return { pushed: count, rate: (count - 1) / (Number(now() - begun) / 1e9) };
}

async function pushLong(queue, task, count, budget) {
  const begun = now();
  let pushed = 0;
  for (; pushed < count && Number(now() - begun) / 1e9 < budget; pushed++) await queue.add(task, { number: LONG });
  return { pushed };
}

async function latency(queue, task, count) {
  const begun = [];
  for (let number = 0; number < count; number++) {
    await sleep(8 + Math.random() * 12);
    begun.push(Number(now()));
    await queue.add(task, { number });
  }
  return { pushed: count, begun };
}

const paced = (rate) => async (queue, task, count) => {
  const begun = Number(now());
  for (let number = 0; number < count; number++) {
    const early = begun / 1e6 + number * 1000 / rate - Number(now()) / 1e6;
    if (early > 0) await sleep(early);
    await queue.add(task, { number });
  }
  return { pushed: count };
};

async function produce(verb, task, count, budget) {
  const queue = new Queue("bench", { connection });
  const act = { push, push_many: pushMany, push_long: pushLong, latency, paced_200: paced(200), paced_1000: paced(1000) }[verb];
  console.log(JSON.stringify(await act(queue, task, Number(count), Number(budget))));
  await queue.close();
}

const [verb, ...rest] = process.argv.slice(2);
if (verb === "work") work(Number(rest[0]));
else produce(verb, ...rest);
