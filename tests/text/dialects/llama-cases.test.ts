import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ChatTool, type Dialect, dialectOf } from '../../../src/text/index.ts';
import { fixture } from '../../support/fixture.ts';
import { type ReadAnswer, readAnswer, splits } from '../../support/read-answer.ts';

interface Case {
  readonly template: string;
  /** Where it stands in llama.cpp's tests/test-chat.cpp. */
  readonly line: number;
  readonly input: string;
  readonly tools?: readonly string[];
  readonly thinking?: false;
  /** Reasoning is left in the text there. */
  readonly inline?: true;
  readonly partial?: true;
  readonly continues?: { readonly reasoning: string; readonly content: string; readonly in: string };
  readonly expect: {
    readonly reasoning?: string;
    readonly text?: string;
    readonly calls?: readonly { readonly name: string; readonly arguments: string; readonly id?: string }[];
  };
}

interface Cases {
  readonly tools: Readonly<Record<string, Record<string, unknown> | null>>;
  readonly promptEnds: Readonly<Record<string, { readonly on: string; readonly off: string }>>;
  readonly cases: readonly Case[];
}

const { tools, promptEnds, cases } = JSON.parse(
  readFileSync(fixture('dialects/llama-cases.json'), 'utf8'),
) as Cases;

/** Cases that come out otherwise here, by template and line, and why. */
const INLINE = 'asked to leave the reasoning in the text, which is always told apart here';
const FENCED =
  'an answer held to a schema is in no fence: its grammar has none, and text without one is left as it is';
const OTHERWISE: Readonly<Record<string, string>> = {
  'Qwen3.5-4B:2150': INLINE,
  'mistralai-Ministral-3-14B-Reasoning-2512:2599': INLINE,
  'mistralai-Ministral-3-14B-Reasoning-2512:2647': FENCED,
  'NVIDIA-Nemotron-3-Nano-30B-A3B-BF16:2698': INLINE,
  'CohereForAI-c4ai-command-r7b-12-2024-tool_use:2825': INLINE,
  'Cohere2MoE:2875': INLINE,
  'google-gemma-4-31B-it:3005': INLINE,
  'openai-gpt-oss-120b:6421': INLINE,
  'Apriel-1.6-15b-Thinker-fixed:6206': "the prompt's words that open the reasoning are none of the model's",
  'Apriel-1.6-15b-Thinker-fixed:6216': "the prompt's words that open the reasoning are none of the model's",
  'meta-llama-Llama-3.1-8B-Instruct:6297': FENCED,
};

for (const template of new Set(cases.map((of) => of.template))) {
  test(`answers of ${template} are read as llama.cpp reads them, however they are cut`, () => {
    for (const of of cases) {
      if (of.template !== template) continue;
      if (OTHERWISE[`${template}:${of.line}`] === undefined) check(of);
      else assert.throws(() => check(of), assert.AssertionError, `${template}:${of.line} comes out alike`);
    }
  });
}

function check(of: Case): void {
  const source = readFileSync(fixture(`chat-templates/${of.template}.jinja`), 'utf8');
  const dialect = dialectOf(source);
  const known = (of.tools ?? []).map((id): ChatTool => {
    const parameters = tools[id];
    return { type: 'function', function: { name: id.replace(/#.*/, ''), ...(parameters && { parameters }) } };
  });
  const ends = promptEnds[of.template];
  const prompt = of.inline || of.continues ? '' : ((of.thinking === false ? ends?.off : ends?.on) ?? '');
  const begun = of.continues ? begunAnswer(of, dialect) : '';
  const where = `${of.template}:${of.line}`;
  const whole = readAnswer(dialect, [begun + of.input], { tools: known, prompt });
  assert.deepEqual(comparable(whole), expected(of), `${where} ${JSON.stringify(whole)}`);
  for (const pieces of splits(of.input)) {
    const read = readAnswer(dialect, [begun, ...pieces], { tools: known, prompt });
    assert.deepEqual(read, whole, `${where} cut behind ${JSON.stringify(pieces[0])}`);
  }
  for (const call of whole.calls) {
    assert.equal(call.outcome, of.partial ? 'cut' : 'whole', where);
    if (!of.partial) JSON.parse(call.arguments);
  }
}

/** What the template writes of an answer that goes on. Some leave the reasoning out. */
function begunAnswer({ continues, expect }: Case, { name, reasoning: { open, close } }: Dialect): string {
  if (!continues) return '';
  const reasoning = open + continues.reasoning;
  if (name === 'harmony' || name === 'functionary-v3.2') {
    const text = name === 'harmony' ? '<|channel|>final<|message|>' : 'all\n';
    const before = expect.reasoning === undefined ? '' : `${reasoning}${close}<|start|>assistant`;
    return continues.in === 'reasoning' ? reasoning : before + text + continues.content;
  }
  if (expect.reasoning === undefined) return continues.content;
  return continues.in === 'reasoning' ? reasoning : reasoning + close + continues.content;
}

function comparable({ reasoning, text, calls }: ReadAnswer): unknown {
  return {
    reasoning: reasoning.trim(),
    text: text.trim(),
    calls: calls.map(({ name, arguments: json, id }) => ({ name, id, arguments: normal(json) })),
  };
}

function expected({ expect, partial }: Case): unknown {
  return comparable({
    reasoning: expect.reasoning ?? '',
    text: expect.text ?? '',
    calls: [...(expect.calls ?? [])].map((call) => ({
      ...call,
      arguments: call.arguments || (partial ? '' : '{}'),
    })),
    faults: [],
  });
}

/** As llama.cpp's tests compare arguments: what is no JSON is not looked at. */
function normal(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return '';
  }
}
