import { fail } from '../../base/errors.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { ModelConfig } from '../../model/model-config.ts';

/** A model as described by its header. */
export interface DescribedModel {
  readonly gguf: GgufFile;
  readonly config: ModelConfig;
}

/** Vocabularies are padded to round sizes: up to this many additional tokens count as padding. */
const MAX_PADDING = 128;

/** Throws `DRAFT_UNSUPPORTED` or `DRAFT_VOCABULARY` if `draft` cannot propose tokens for `model`. */
export function checkDraft(model: DescribedModel, draft: DescribedModel): void {
  for (const { gguf, config } of [model, draft]) {
    const { architecture, pooling } = config;
    const found = `an encoder (${architecture})`;
    if (pooling)
      fail('DRAFT_UNSUPPORTED', { model: gguf.name, found, expected: 'a model that continues texts' });
  }
  // A draft model is rolled back to the accepted tokens again and again.
  if (draft.config.state.some(({ kind }) => kind === 'slots')) {
    const found = `a recurrent state (${draft.config.architecture})`;
    fail('DRAFT_UNSUPPORTED', { model: draft.gguf.name, found, expected: 'a draft that caches positions' });
  }
  checkVocabulary(model.gguf, draft.gguf);
}

/** Throws `DRAFT_VOCABULARY` if the files' tokens differ. */
export function checkVocabulary(model: GgufFile, draft: GgufFile): void {
  const [own, others] = [tokensOf(model), tokensOf(draft)];
  const refuse = (found: string, expected: string) =>
    fail('DRAFT_VOCABULARY', { draft: draft.name, found, expected });
  if (Math.abs(own.length - others.length) > MAX_PADDING)
    refuse(`${others.length} tokens`, `${own.length} as in ${model.name}`);
  const shared = Math.min(own.length, others.length);
  for (let id = 0; id < shared; id++) {
    const [expected, found] = [own[id] as Uint8Array, others[id] as Uint8Array];
    if (!areEqual(expected, found)) refuse(`${textOf(found)} as token ${id}`, textOf(expected));
  }
}

function tokensOf(gguf: GgufFile): readonly Uint8Array[] {
  const tokens = gguf.metadata.byteStrings('tokenizer.ggml.tokens');
  return tokens ?? fail('TOKENIZER_MISSING', { found: `no tokens in ${gguf.name}` });
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function textOf(bytes: Uint8Array): string {
  return JSON.stringify(new TextDecoder().decode(bytes));
}
