import { logSumExp } from './log-likelihood.ts';

/** What begins a file of a base model's log probabilities. */
export interface BaseHeader {
  /** Tokens per chunk. */
  readonly context: number;
  readonly vocabulary: number;
  readonly chunks: readonly (readonly number[])[];
}

const MAGIC = '_logits_';
/** The magic, and three numbers of four bytes. */
export const FIXED_BYTES = 20;
/** Logits this far below the largest one are stored as the least. */
const RANGE = 16;
const STEPS = 65_535;

/** Bytes of a position: scale and least log probability as f32, then 16 bits for each token, an even number of them. */
export function rowBytes(vocabulary: number): number {
  return 2 * (2 * Math.ceil(vocabulary / 2) + 4);
}

/** The beginning of a file, as llama.cpp's perplexity tool writes it with `--kl-divergence-base`: the tokens of all chunks. */
export function encodeHeader({ context, vocabulary, chunks }: BaseHeader): Uint8Array {
  const bytes = new Uint8Array(FIXED_BYTES + 4 * chunks.length * context);
  bytes.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(bytes.buffer);
  const numbers = [context, vocabulary, chunks.length, ...chunks.flat()];
  for (const [i, value] of numbers.entries()) view.setInt32(8 + 4 * i, value, true);
  return bytes;
}

/** The numbers of the first `FIXED_BYTES` bytes; undefined for another kind of file. */
export function decodeFixed(
  bytes: Uint8Array,
): { readonly context: number; readonly vocabulary: number; readonly count: number } | undefined {
  if (bytes.length < FIXED_BYTES || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC)
    return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [context, vocabulary, count] = [8, 12, 16].map((at) => view.getInt32(at, true)) as [
    number,
    number,
    number,
  ];
  return context >= 4 && vocabulary > 0 && count > 0 ? { context, vocabulary, count } : undefined;
}

/** The chunks behind the first bytes. */
export function decodeChunks(bytes: Uint8Array, context: number): number[][] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ids = Array.from({ length: bytes.byteLength / 4 }, (_, i) => view.getInt32(4 * i, true));
  return Array.from({ length: ids.length / context }, (_, i) => ids.slice(i * context, (i + 1) * context));
}

/** The logits of a position in 16 bits each. */
export function encodeRow(logits: Float32Array): Uint8Array {
  const bytes = new Uint8Array(rowBytes(logits.length));
  const view = new DataView(bytes.buffer);
  let [largest, least] = [-Infinity, Infinity];
  for (const logit of logits) {
    if (logit > largest) largest = logit;
    if (logit < least) least = logit;
  }
  least = Math.max(least, largest - RANGE);
  const scale = Math.fround((largest - least) / STEPS);
  view.setFloat32(0, scale, true);
  view.setFloat32(4, least - logSumExp(logits), true);
  if (scale === 0) return bytes;
  for (const [id, logit] of logits.entries()) {
    const step = logit > least ? Math.min(STEPS, Math.round((logit - least) / scale)) : 0;
    view.setUint16(8 + 2 * id, step, true);
  }
  return bytes;
}

/** The log probabilities of a position. */
export function decodeRow(bytes: Uint8Array, vocabulary: number): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [scale, least] = [view.getFloat32(0, true), view.getFloat32(4, true)];
  return Float32Array.from(
    { length: vocabulary },
    (_, id) => scale * view.getUint16(8 + 2 * id, true) + least,
  );
}
