import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { metadataOf } from './metadata.ts';

/** The kinds of tokenizers that a synthetic vocabulary supports. */
export type MarkerModel = 'llama' | 'gpt2' | 'rwkv' | 't5' | 'bert';

const NORMAL = 1;
const CONTROL = 3;
const USER_DEFINED = 4;
const BYTE = 6;

/** The texts in a template that look like special tokens. */
export function markersOf(source: string): string[] {
  const found = source.match(/<[^\s<>'"{}%]{1,40}>|\[\/?[A-Z_]{2,30}\]|\]<\]|[a-z_]+▁[a-z_▁]+/g) ?? [];
  return [...new Set(found)];
}

/**
 * A tokenizer whose vocabulary has each marker as a control or user-defined token, all prefixes of markers as normal
 * ones, so that merges can build them, and all characters of the texts.
 */
export function markerTokenizer(
  model: MarkerModel,
  markers: readonly string[],
  kind: 'control' | 'user-defined',
  texts: readonly string[],
): Tokenizer {
  const spell = (text: string) => (model === 'gpt2' ? byteAlphabet(text) : text);
  const tokens: string[] = ['<unk>', '<BOS>', '<EOS>'];
  const types = [2, CONTROL, CONTROL];
  const scores = [0, 0, 0];
  const known = new Set(tokens);
  const add = (token: string, type: number, score: number) => {
    if (known.has(token)) return;
    known.add(token);
    tokens.push(token);
    types.push(type);
    scores.push(score);
  };
  for (const marker of markers) add(marker, kind === 'control' ? CONTROL : USER_DEFINED, 100);
  if (model === 'llama') for (let i = 0; i < 256; i++) add(byteName(i), BYTE, 0);
  const merges: string[] = [];
  const start = model === 'bert' ? '\u2581' : '';
  for (const marker of markers) {
    for (let end = 2; end <= marker.length; end++) {
      const piece = spell(marker.slice(0, end));
      if (end < marker.length) add(start + piece, NORMAL, end);
      merges.push(`${spell(marker.slice(0, end - 1))} ${spell(marker.slice(end - 1, end))}`);
    }
  }
  const characters = new Set([...texts.join(''), ...markers.join('')]);
  for (const character of characters) {
    for (const symbol of spell(character))
      add(symbol === ' ' && model !== 'rwkv' ? '\u2581' : symbol, NORMAL, -10);
    if (model === 'bert') add(`\u2581${character}`, NORMAL, -10);
  }
  return createTokenizer(
    metadataOf({
      model,
      ...(model === 'gpt2' && { pre: 'gpt-2', merges: [...new Set(merges)] }),
      tokens,
      scores,
      token_type: types,
      add_space_prefix: false,
      add_bos_token: false,
      add_eos_token: false,
    }),
  );
}

function byteName(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

/** GPT-2's characters for bytes. */
function byteAlphabet(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((byte) => {
      const shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      return String.fromCodePoint(shown ? byte : 256 + HIDDEN.indexOf(byte));
    })
    .join('');
}

const HIDDEN = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => !((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174),
);
