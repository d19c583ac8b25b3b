import { fail } from '../base/errors.ts';
import { describeValue } from '../base/option-values.ts';

/** A piece of a prompt: a token id, or an embedding vector in its place, f32 [width]. */
export type PromptItem = number | Float32Array;

/** A prompt as sequences store it: a vector is represented among the ids by a negative number. */
export interface PromptIds {
  readonly ids: readonly number[];
  /** Vectors by number. Equal vectors have equal numbers, so that prefixes can be compared by ids alone. */
  readonly vectors: ReadonlyMap<number, Float32Array>;
}

const NO_VECTORS: ReadonlyMap<number, Float32Array> = new Map();
/** A secret of the process, so that nobody can construct vectors whose numbers collide. */
const SALT = [Math.random(), Math.random()].map((random) => Math.floor(random * 2 ** 32));

/** Numbers a prompt's vectors by their contents. */
export function promptIds(items: readonly PromptItem[]): PromptIds {
  const vectors = new Map<number, Float32Array>();
  const ids = items.map((item) => {
    if (typeof item === 'number') return item;
    if (!(item instanceof Float32Array)) {
      const expected = 'token ids, or vectors in a Float32Array';
      fail('INVALID_ARGUMENT', { name: 'prompt', found: describeValue(item), expected });
    }
    const number = numberOf(item);
    vectors.set(number, item);
    return number;
  });
  return { ids, vectors: vectors.size > 0 ? vectors : NO_VECTORS };
}

/**
 * Throws `INVALID_ARGUMENT` for vectors of the wrong width, with non-finite values, or if the model's embedding is on
 * the device.
 */
export function checkVectors(
  vectors: ReadonlyMap<number, Float32Array>,
  { width, isOnHost }: { width: number; isOnHost: boolean },
): void {
  const refuse = (found: string, expected: string) =>
    fail('INVALID_ARGUMENT', { name: 'prompt', found, expected });
  for (const vector of vectors.values()) {
    if (!isOnHost)
      refuse('a vector', "token ids, or a model whose embedding is on the host (embedding: 'host')");
    if (vector.length !== width) refuse(`a vector of ${vector.length}`, `vectors of ${width}`);
    if (!vector.every(Number.isFinite)) refuse('a vector with NaN or infinity', 'numbers');
  }
}

/** A negative number that depends on all bits of a vector: 52 bits of two hashes (mixed as in MurmurHash3). */
function numberOf(vector: Float32Array): number {
  const words = new Uint32Array(vector.buffer, vector.byteOffset, vector.length);
  let [a = 0, b = 0] = SALT;
  for (const word of words) {
    a = Math.imul(a ^ Math.imul(word, 0xcc9e2d51), 0x1b873593) ^ (a >>> 13);
    b = Math.imul(b ^ Math.imul(word, 0x85ebca6b), 0xc2b2ae35) ^ (b >>> 16);
  }
  return -1 - ((a >>> 0) * 2 ** 20 + ((b >>> 0) & 0xfffff));
}
