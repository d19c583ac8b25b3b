import {
  MAX_LOG_PROBABILITIES,
  maskWords,
  SAMPLING_ROW_WORDS,
  SamplingScratch,
  sampleRow,
} from '../../ops/index.ts';
import type { JobSequence } from './job-sequence.ts';
import { readReport, type SampledToken } from './sampled-token.ts';

/** Samples on the host, from logits that were read back: as the `sample` operator defines, or by a sequence's own chain. */
export class HostSampler {
  readonly #scratch: SamplingScratch;
  readonly #row = new Int32Array(SAMPLING_ROW_WORDS);
  readonly #report = new Float32Array(2 * (1 + MAX_LOG_PROBABILITIES));
  readonly #anything: Int32Array;

  constructor(vocabulary: number) {
    this.#scratch = new SamplingScratch(vocabulary);
    this.#anything = new Int32Array(maskWords(vocabulary)).fill(-1);
  }

  /** The token after the sequence's last id, given the logits. */
  sample({ ids, sampling, chain, mask, alternatives }: JobSequence, logits: Float32Array): SampledToken {
    if (chain) return chain.sample({ logits, ids, mask, scratch: this.#scratch });
    this.#row.set(sampling);
    const id = sampleRow({
      logits,
      row: this.#row,
      history: Int32Array.from(ids),
      mask: mask ?? this.#anything,
      position: ids.length - 1,
      scratch: this.#scratch,
      report: this.#report,
    });
    if (alternatives < 0) return { id, logProbability: undefined, alternatives: [] };
    return readReport(this.#report, alternatives);
  }
}
