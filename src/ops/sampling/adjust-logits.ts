import { NUMBER_ROWS, SAMPLING_WORD } from './sampling-row.ts';
import type { SamplingScratch } from './sampling-scratch.ts';

/** A row's logits, and what adjusts them before sampling. */
export interface RowLogits {
  /** One logit per token of the vocabulary; not changed. */
  readonly logits: Float32Array;
  /** The sequence's tokens, at least those at positions 0 to `position`. */
  readonly history: Int32Array;
  /** The sequence's mask, `maskWords` of the vocabulary; read if the row enables it. */
  readonly mask: Int32Array;
  /** The position of the row's own token; the random number depends on it and on the seed alone. */
  readonly position: number;
  /** Its words hold the row's parameters. */
  readonly scratch: SamplingScratch;
}

/** The stages that forbid tokens by their logits, with the positions of their values in a row. */
const FORBIDDING = NUMBER_ROWS.flatMap(([name, { forbid: run }]) =>
  run ? [{ run, at: SAMPLING_WORD[name] }] : [],
);

/** The logits after mask, bias, penalties, DRY and top-n-sigma: the original ones if none applies, otherwise a changed copy. */
export function adjustLogits({ logits, history, mask, position, scratch }: RowLogits): Float32Array {
  const { words, floats } = scratch;
  const repeat = floats[SAMPLING_WORD.repeatPenalty] as number;
  const frequency = floats[SAMPLING_WORD.frequencyPenalty] as number;
  const presence = floats[SAMPLING_WORD.presencePenalty] as number;
  const window = words[SAMPLING_WORD.penaltyWindow] as number;
  const penalized = window !== 0 && (repeat !== 1 || frequency !== 0 || presence !== 0);
  const masked = words[SAMPLING_WORD.masked] !== 0;
  const draws = (floats[SAMPLING_WORD.temperature] as number) > 0;
  const forbids = draws && FORBIDDING.some(({ at }) => (floats[at] as number) > 0);
  const biases = words[SAMPLING_WORD.biasCount] as number;
  const dry = words[SAMPLING_WORD.dryCount] as number;
  if (!penalized && !masked && biases === 0 && dry === 0 && !forbids) return logits;
  scratch.logits.set(logits);
  if (masked) forbid(scratch.logits, mask);
  addPairs(scratch, { first: 0, count: biases, sign: 1 });
  if (penalized) {
    const end = position + 1;
    const start = window < 0 ? 0 : Math.max(0, end - window);
    penalize(scratch, history, { start, end }, { repeat, frequency, presence });
  }
  addPairs(scratch, { first: biases, count: dry, sign: -1 });
  for (const { run, at } of forbids ? FORBIDDING : []) {
    if ((floats[at] as number) > 0) run(scratch.logits, floats[at] as number);
  }
  return scratch.logits;
}

/** Forbids the tokens whose bit is not set; `id` has bit `id % 32` of word `id / 32`. */
export function forbid(logits: Float32Array, mask: Int32Array): void {
  for (let word = 0, first = 0; first < logits.length; word++, first += 32) {
    const bits = mask[word] as number;
    if (bits === -1) continue;
    const count = Math.min(32, logits.length - first);
    for (let bit = 0; bit < count; bit++) {
      if (((bits >>> bit) & 1) === 0) logits[first + bit] = -Infinity;
    }
  }
}

/** Adds values to the logits of their tokens, or subtracts them; ids outside the vocabulary are ignored. */
function addPairs(
  { logits, words, floats }: SamplingScratch,
  { first, count, sign }: { readonly first: number; readonly count: number; readonly sign: 1 | -1 },
): void {
  for (let i = 0, at = SAMPLING_WORD.biases + 2 * first; i < count; i++, at += 2) {
    const id = words[at] as number;
    if (id < 0 || id >= logits.length) continue;
    logits[id] = (logits[id] as number) + sign * (floats[at + 1] as number);
  }
}

/** Penalties on recent tokens; see `SamplingParameters`. */
export interface Penalties {
  readonly repeat: number;
  readonly frequency: number;
  readonly presence: number;
}

/**
 * Lowers the logits of the tokens in `history[start .. end)`: first the repeat penalty divides a positive and multiplies a
 * negative logit (Keskar et al. 2019), then `frequency` is subtracted for each occurrence and `presence` once.
 */
export function penalize(
  { logits, occurrences }: Pick<SamplingScratch, 'logits' | 'occurrences'>,
  history: Int32Array,
  range: { readonly start: number; readonly end: number },
  penalties: Penalties,
): void {
  for (let i = range.start; i < range.end; i++) {
    const id = history[i] as number;
    if (id >= 0 && id < logits.length) occurrences[id] = (occurrences[id] as number) + 1;
  }
  for (let i = range.start; i < range.end; i++) {
    const id = history[i] as number;
    const times = occurrences[id] ?? 0;
    if (times === 0) continue;
    occurrences[id] = 0;
    const logit = logits[id] as number;
    const repeated = logit > 0 ? logit / penalties.repeat : logit * penalties.repeat;
    logits[id] = repeated - times * penalties.frequency - penalties.presence;
  }
}
