import { fail } from '../base/errors.ts';
import { encodeChatInTurns } from './chat-template.ts';
import type { Rendered } from '../jinja/index.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';

/** The key of the text around query and document, which replace `{query}` and `{document}` in it. */
const KEY = 'tokenizer.chat_template.rerank';

const PLACES = /\{(query|document)\}/g;

/**
 * Encodes pairs of query and document for a model that ranks, as llama.cpp's server does: by the file's template, or as
 * `[BOS] query [EOS] [SEP] document [EOS]` with those tokens that the file adds to texts. Names of control tokens count
 * only where the template wrote them.
 */
export class RerankPrompt {
  readonly #template: string | undefined;

  /** Throws `CHAT_TEMPLATE_INVALID` for a template without places for both. */
  constructor(
    metadata: TokenizerMetadata,
    readonly tokenizer: Tokenizer,
  ) {
    this.#template = metadata.string(KEY);
    for (const place of ['{query}', '{document}']) {
      if (this.#template?.includes(place) !== false) continue;
      fail('CHAT_TEMPLATE_INVALID', { reason: `${KEY} has no place for ${place}` });
    }
  }

  /** The token ids of a pair. Rejects with `ABORTED` when the signal fires. */
  async encode(query: string, document: string, signal: AbortSignal | undefined): Promise<number[]> {
    const { tokenizer } = this;
    if (this.#template !== undefined) {
      return encodeChatInTurns(tokenizer, filled(this.#template, { query, document }), signal);
    }
    const { bos, eos, separator, addBos, addEos, addSeparator } = tokenizer.special;
    const own = (id: number | undefined, isAdded: boolean) => (isAdded && id !== undefined ? [id] : []);
    const options = { addSpecial: false, ...(signal && { signal }) };
    const end = own(eos ?? separator, addEos);
    return [
      ...own(bos, addBos),
      ...(await tokenizer.encodeInTurns(query, options)),
      ...end,
      ...own(separator, addSeparator),
      ...(await tokenizer.encodeInTurns(document, options)),
      ...end,
    ];
  }
}

/** The template with texts in its places, and the spans that it wrote itself. */
function filled(template: string, texts: Readonly<Record<string, string>>): Rendered {
  const written: number[] = [];
  let text = '';
  let end = 0;
  const take = (to: number) => {
    if (to > end) written.push(text.length, text.length + to - end);
    text += template.slice(end, to);
  };
  for (const place of template.matchAll(PLACES)) {
    take(place.index);
    text += texts[place[1] ?? ''];
    end = place.index + place[0].length;
  }
  take(template.length);
  return { text, written };
}
