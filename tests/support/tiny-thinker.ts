import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { type EncodedValue, GgufFile, type GgufValue } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { tinyBytes, tinyPlan } from './tiny-model.ts';

const TEMPLATE =
  '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<think>\n{% endif %}';
/** The minimum number of tokens before the one that ends the reasoning. */
const THOUGHTS = 3;
const NORMAL = 1;
const CONTROL = 3;

/** A reasoning model, and what it generates at temperature 0 without penalties. */
export interface TinyThinker {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly reasoning: string;
  readonly text: string;
}

/**
 * A tiny random model that closes its reasoning and answers: since its output is known, one of its tokens gets the text
 * `</think>`, and the others, except those that the prompt needs, become words.
 */
export async function tinyThinker(question: string, tokens: number): Promise<TinyThinker> {
  const plan = new Map(tinyPlan('F32').metadata);
  const pieces = valuesOf(plan.get('tokenizer.ggml.tokens')) as string[];
  const types = valuesOf(plan.get('tokenizer.ggml.token_type')) as number[];
  const needed = new TextEncoder().encode(`user: ${question}\n<think>`);
  const isFree = (id: number) => id >= 3 && id < 259 && !needed.includes(id - 3);
  const words = pieces.map((piece, id) => (isFree(id) ? `\u2581w${id}` : piece));
  const kinds = types.map((type, id) => (isFree(id) ? NORMAL : type));
  const ids = await idsOf(await bytesOf(words, kinds), question, tokens);
  const close = ids.findIndex((id, at) => at >= THOUGHTS && isFree(id) && ids.indexOf(id) === at);
  if (close < 0) throw new Error('the tiny model says nothing that could end its reasoning');
  const spelt = words.map((piece, id) => (id === ids[close] ? '</think>' : piece));
  const typed = kinds.map((type, id) => (id === ids[close] ? CONTROL : type));
  const textOf = (id: number) =>
    id >= 3 && id < 259 && !isFree(id) ? String.fromCharCode(id - 3) : words[id];
  const say = (some: readonly number[]) => some.map(textOf).join('').replaceAll('\u2581', ' ').trim();
  return {
    bytes: await bytesOf(spelt, typed),
    reasoning: say(ids.slice(0, close)),
    text: say(ids.slice(close + 1).filter((id) => id !== ids[close])),
  };
}

function valuesOf(value: EncodedValue | GgufValue | undefined): unknown[] {
  return value?.type === 'array' && 'values' in value ? Array.from<unknown>(value.values) : [];
}

function bytesOf(pieces: readonly string[], types: readonly number[]) {
  return tinyBytes('F32', [
    ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: [...pieces] }],
    ['tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: [...types] }],
    ['tokenizer.chat_template', { type: 'string', value: TEMPLATE }],
  ]);
}

async function idsOf(bytes: Uint8Array<ArrayBuffer>, question: string, tokens: number): Promise<number[]> {
  const gguf = await GgufFile.open(new MemorySource(bytes, 'tiny.gguf'));
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 128 });
  const ids: number[] = [];
  const options = { temperature: 0, repeatPenalty: 1, maxTokens: tokens, special: true } as const;
  for await (const { token } of model.chat([{ role: 'user', content: question }], options)) {
    if (token) ids.push(token.id);
  }
  return ids;
}
