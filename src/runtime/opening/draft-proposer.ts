import { isRocmforgeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { readSamplingRow, type SamplingParameters, seedOf } from '../../ops/index.ts';
import type { Follower, ProposedSequence, Proposer } from '../../scheduler/proposer.ts';
import type { GenerateRequest, TokenStream } from '../sequence.ts';

/** A model that continues token ids. */
export interface TokenSource {
  /** Maximum positions of a sequence. */
  readonly context: number;
  generateTokens(request: GenerateRequest): TokenStream;
}

/** Options of draft requests. */
export interface DraftProposerOptions {
  /** The main model's vocabulary size: a draft's vocabulary may have more padding. */
  readonly vocabulary: number;
  /** A less probable token ends a proposal, without being part of it; 0 for any. */
  readonly minProbability: number;
  readonly logger: Logger;
}

/**
 * Proposes the tokens that a smaller model samples, with the sequence's own seed, positions and parameters: where the
 * two models agree on the probabilities, they sample the same token. The draft model's state of a sequence is kept in
 * its slots and found by prefix, as for any text: after a rejected draft, a fork or a shifted context it recomputes the
 * tokens after the common prefix.
 */
export class DraftProposer implements Proposer {
  readonly #draft: TokenSource;
  readonly #options: DraftProposerOptions;

  constructor(draft: TokenSource, options: DraftProposerOptions) {
    this.#draft = draft;
    this.#options = options;
  }

  follow(sequence: ProposedSequence): Follower {
    return new DraftFollower(this.#draft, sequence, this.#options);
  }
}

const NOTHING: readonly number[] = [];

class DraftFollower implements Follower {
  readonly #draft: TokenSource;
  readonly #sequence: ProposedSequence;
  readonly #options: DraftProposerOptions;
  readonly #sampling: SamplingParameters;
  readonly #ending = new AbortController();
  #hasFailed = false;

  constructor(draft: TokenSource, sequence: ProposedSequence, options: DraftProposerOptions) {
    this.#draft = draft;
    this.#sequence = sequence;
    this.#options = options;
    const logProbabilities = options.minProbability > 0 ? 0 : -1;
    // It does not have the model's masks: what they forbid is rejected.
    this.#sampling = { ...readSamplingRow(sequence.sampling), logProbabilities, masked: false };
  }

  propose(maxIds: number): readonly number[] | Promise<readonly number[]> {
    const room = Math.min(maxIds, this.#draft.context + 1 - this.#sequence.ids.length);
    return this.#hasFailed || room <= 0 ? NOTHING : this.#continue(room);
  }

  leave(): void {
    this.#ending.abort();
  }

  async #continue(maxTokens: number): Promise<readonly number[]> {
    const { ids, sampling: row, stopTokens, cacheSalt } = this.#sequence;
    // A shifted context changes the seed.
    const sampling = { ...this.#sampling, seed: seedOf(row) };
    const { signal } = this.#ending;
    const proposed: number[] = [];
    try {
      const how = { maxTokens, stopTokens, cacheSalt, logged: 'trace', signal } as const;
      const tokens = this.#draft.generateTokens({ prompt: ids, sampling, ...how });
      const { vocabulary, minProbability } = this.#options;
      for await (const { id, logProbability = 0 } of tokens) {
        if (id >= vocabulary || Math.exp(logProbability) < minProbability) break;
        proposed.push(id);
      }
    } catch (error) {
      this.#hasFailed = true;
      if (!isRocmforgeError(error, 'ABORTED'))
        this.#options.logger.warn('the draft failed: a text goes on without it', { error });
    }
    return proposed;
  }
}
