// BullMQ's half of `measures/fleet.py`, as fleet.py: `fleet.cjs WORKERS COUNT BUDGET`.
// Each worker repeats the call of BullMQ's worker loop: `moveToFinished` settles a job and fetches the next one.
// Script and arguments are BullMQ's. Plain sockets send them: with ioredis, node would be the limit, not the server.
const net = require("node:net");
const readline = require("node:readline");
const Redis = require("ioredis");
const Parser = require("redis-parser");
const { Worker } = require("bullmq");
const { moveToFinished } = require("bullmq/dist/cjs/scripts");

const url = new URL(process.env.BENCH_URL);
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
const RESULT = JSON.stringify(12345);

function packed(words) {
  const parts = [`*${words.length}\r\n`];
  for (const word of words) {
    const text = Buffer.isBuffer(word) ? word.toString("latin1") : String(word ?? "");
    parts.push(`$${text.length}\r\n${text}\r\n`);
  }
  return parts.join("");
}

// One worker: its connection, and the id of the job that it holds.
class Simulated {
  constructor(worker, sha, token) {
    const answer = (name) => (value) => this.pending[name](value);
    const parser = new Parser({ returnReply: answer("resolve"), returnError: answer("reject") });
    this.worker = worker;
    this.call = ["EVALSHA", sha, moveToFinished.keys];
    this.token = token;
    this.socket = net.connect({ ...connection, noDelay: true }).on("data", (data) => parser.execute(data));
  }

  async claim() {
    this.id = (await this.worker.getNextJob(this.token)).id;
  }

  async settle() {
    const job = { id: this.id, opts: {} };
    const words = this.worker.backend.moveToCompletedArgs(job, RESULT, undefined, this.token, true);
    this.socket.write(packed([...this.call, ...words]), "latin1");
    const reply = await new Promise((resolve, reject) => { this.pending = { resolve, reject }; });
    if (!Array.isArray(reply) || !reply[1]) throw new Error(`moveToFinished answers ${reply}`);
    this.id = reply[1];
  }
}

async function main(number, count, budget) {
  const redis = new Redis(connection);
  const sha = await redis.script("LOAD", moveToFinished.content);
  const worker = new Worker("bench", null, { connection, autorun: false });
  const workers = Array.from({ length: number }, (_, index) => new Simulated(worker, sha, `fleet:${process.pid}:${index}`));
  for (const each of workers) await each.claim();
  const go = new Promise((done) => readline.createInterface({ input: process.stdin }).once("line", done));
  console.log("ready");
  await go;
  const begun = performance.now();
  let sent = 0;
  const loop = async (each) => {
    while (sent < count && performance.now() - begun < 1000 * budget) {
      sent++;
      await each.settle();
    }
  };
  await Promise.all(workers.map(loop));
  console.log(JSON.stringify({ settled: sent, seconds: (performance.now() - begun) / 1000 }));
  process.exit(0);
}

main(...process.argv.slice(2).map(Number));
