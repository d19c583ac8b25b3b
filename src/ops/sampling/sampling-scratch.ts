import { Candidates } from './candidates.ts';
import { SAMPLING_ROW_WORDS } from './sampling-row.ts';

/** Working memory of `sampleRow`: one per thread, created for a vocabulary and reused for every row. */
export class SamplingScratch {
  /** A parameter row's words, and the same bits as floats. */
  readonly words: Int32Array = new Int32Array(SAMPLING_ROW_WORDS);
  readonly floats: Float32Array = new Float32Array(this.words.buffer);
  /** The logits after bias and penalties. */
  readonly logits: Float32Array;
  /** @internal */
  readonly candidates: Candidates;
  /** How often each token occurred in the penalty window; all zero between rows. */
  readonly occurrences: Int32Array;

  constructor(readonly vocabulary: number) {
    this.logits = new Float32Array(vocabulary);
    this.candidates = new Candidates(vocabulary);
    this.occurrences = new Int32Array(vocabulary);
  }
}
