import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { invariant } from '../../base/errors.ts';
import type { HashOrder, HashReport, HashRequest } from './file-hash.ts';

/** Bytes that are hashed between two looks at the messages. */
const PIECE_BYTES = 4 << 20;

/** Entry point of the thread that hashes a file while it is written. */
const port = parentPort;
invariant(port, 'this module is run as a worker thread');
const { path, kind, size } = workerData as HashRequest;
const hash = createHash(kind === 'sha256' ? 'sha256' : 'sha1');
// Git hashes an object's kind and size before its content.
if (kind === 'git-sha1') hash.update(`blob ${size}\0`);
const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
let hashed = 0;

function report(message: HashReport): void {
  port?.postMessage(message);
}

function hashUntil(end: number): void {
  const file = openSync(path, 'r');
  try {
    while (hashed < end) {
      const found = readSync(file, piece, 0, Math.min(PIECE_BYTES, end - hashed), hashed);
      if (found === 0) throw new Error(`the file ends at ${hashed}`);
      hash.update(piece.subarray(0, found));
      hashed += found;
      report({ hashed });
    }
  } finally {
    closeSync(file);
  }
}

port.on('message', (order: HashOrder) => {
  let newest = order;
  for (;;) {
    const next = receiveMessageOnPort(port) as { readonly message: HashOrder } | undefined;
    if (!next) break;
    newest = next.message;
  }
  try {
    hashUntil(newest.end);
    if (newest.last) report({ digest: hash.digest('hex') });
  } catch (error) {
    report({ failure: error instanceof Error ? error.message : String(error) });
  }
});
