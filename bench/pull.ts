// How fast `pull` is, beside what bounds it: the loopback connection, the disk and the hash, each measured alone in the same run.
// `npm run bench:pull -- [MiB] [folder]`.
import { fork } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ModelHub } from '../src/node/hub/index.ts';

const MIB = 1 << 20;
const DEFAULT_MIB = 1024;
const CONNECTIONS = 4;
/** The served file repeats this many random bytes. */
const PATTERN_BYTES = 64 * MIB;
const COMMIT = 'c0ffee'.padEnd(40, '0');

/** Serves one repository with one file, in a process of its own. */
async function serve(size: number): Promise<void> {
  const pattern = randomFillSync(Buffer.alloc(PATTERN_BYTES));
  const hash = createHash('sha256');
  for (let at = 0; at < size; at += PATTERN_BYTES)
    hash.update(pattern.subarray(0, Math.min(PATTERN_BYTES, size - at)));
  const oid = hash.digest('hex');
  const server = createServer((request, response) => {
    const { url = '' } = request;
    if (url.includes('/revision/')) return void response.end(JSON.stringify({ sha: COMMIT }));
    if (url.includes('/tree/')) {
      const file = { type: 'file', path: 'model-Q4_0.gguf', size, oid: COMMIT, lfs: { oid, size } };
      return void response.end(JSON.stringify([file]));
    }
    const [, first = '0', last = String(size - 1)] =
      /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const [start, end] = [Number(first), Number(last) + 1];
    response.setHeader('content-range', `bytes ${start}-${end - 1}/${size}`);
    response.setHeader('content-length', end - start);
    response.writeHead(206);
    void send(response, pattern, { start, end });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

async function send(
  response: ServerResponse,
  pattern: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<void> {
  for (let at = start; at < end;) {
    const offset = at % PATTERN_BYTES;
    const piece = pattern.subarray(offset, Math.min(offset + MIB, offset + end - at));
    if (!response.write(piece)) await once(response, 'drain');
    at += piece.length;
  }
  response.end();
}

/** Bytes per second of the connections alone: what arrives is dropped. */
async function loopback(url: string, size: number): Promise<number> {
  const part = Math.ceil(size / CONNECTIONS);
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, i) => {
      const range = `bytes=${i * part}-${Math.min(size, (i + 1) * part) - 1}`;
      await new Promise<void>((resolve, reject) => {
        get(`${url}/file`, { headers: { range } }, (response) => {
          response.on('data', () => {}).once('end', resolve);
        }).once('error', reject);
      });
    }),
  );
  return rate(size, begin);
}

/** Bytes per second of writing alone, to the disk. */
async function disk(folder: string, size: number): Promise<number> {
  const piece = randomFillSync(Buffer.alloc(4 * MIB));
  const path = join(folder, 'disk');
  const begin = performance.now();
  const file = await open(path, 'w');
  for (let at = 0; at < size; at += piece.length) await file.write(piece);
  await file.sync();
  await file.close();
  const speed = rate(size, begin);
  await rm(path);
  return speed;
}

/** Bytes per second of SHA-256 alone. */
function hashing(): number {
  const piece = randomFillSync(Buffer.alloc(4 * MIB));
  const hash = createHash('sha256');
  const begin = performance.now();
  for (let i = 0; i < 64; i++) hash.update(piece);
  return rate(64 * piece.length, begin);
}

async function pull(url: string, folder: string, size: number): Promise<number> {
  const environment = { HF_ENDPOINT: url, HF_HOME: folder };
  using hub = await ModelHub.open({ environment });
  const begin = performance.now();
  const { bytes } = await hub.pull(hub.parse('user/model'), { connections: CONNECTIONS });
  if (bytes !== size) throw new Error(`${bytes} bytes were pulled, ${size} expected`);
  return rate(size, begin);
}

function rate(bytes: number, begin: number): number {
  return bytes / ((performance.now() - begin) / 1000);
}

async function measure(size: number, where: string): Promise<void> {
  const folder = await mkdtemp(join(where, 'rocmforge-pull-'));
  const server = fork(fileURLToPath(import.meta.url), ['serve', String(size)]);
  try {
    const [port] = (await once(server, 'message')) as [number];
    const url = `http://127.0.0.1:${port}`;
    const rates = {
      loopback: await loopback(url, size),
      disk: await disk(folder, size),
      sha256: hashing(),
      pull: await pull(url, folder, size),
    };
    const { model = 'unknown processor' } = cpus()[0] ?? {};
    console.log(`${size / MIB} MiB, ${CONNECTIONS} connections, ${cpus().length} x ${model}`);
    for (const [name, speed] of Object.entries(rates))
      console.log(`${name.padEnd(10)}${(speed / 1e9).toFixed(2)} GB/s`);
    const bound = Math.min(rates.loopback, rates.disk, rates.sha256);
    console.log(`pull is at ${((100 * rates.pull) / bound).toFixed(0)} % of the slowest of the others`);
  } finally {
    server.kill();
    await rm(folder, { recursive: true });
  }
}

const [first = String(DEFAULT_MIB), second = tmpdir()] = process.argv.slice(2);
if (first === 'serve') await serve(Number(second));
else await measure(Number(first) * MIB, second);
