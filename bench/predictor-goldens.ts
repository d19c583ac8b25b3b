// What llama.cpp's blocks for multi-token prediction and its Gemma 4 assistants guess behind ids, for the small models of the tests;
// their files are not stored, tests create them again. Needs llama.cpp's sources, a build of it and a C++ compiler:
//   node dist/bench/predictor-goldens.js <llama.cpp> <its build folder> [model ...]
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GgufFile } from '../src/gguf/index.ts';
import { assistantBytes } from '../tests/support/assistant-model.ts';
import {
  ALLOWED,
  GUESSES,
  modelOf,
  predictedTexts,
  PREDICTOR_CASES,
  PREDICTOR_GOLDEN,
  type PredictorGolden,
  PROMPTS,
} from '../tests/support/predictor-goldens.ts';
import { librariesOf } from './variants/reference.ts';

const PROGRAM = fileURLToPath(new URL('../../bench/peer/predictor-drafts.cc', import.meta.url));
/** Tokens of each text. */
const LENGTH = 24;

const [llama, build, ...wanted] = process.argv.slice(2);
if (llama === undefined || build === undefined) throw new Error('say where llama.cpp and its build are');
const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
const [program, model, assistant] = ['program', 'model.gguf', 'assistant.gguf'].map((name) =>
  join(folder, name),
) as [string, string, string];
const headers = ['include', 'src', 'ggml/include'].flatMap((name) => ['-I', join(llama, name)]);
const linked = [...librariesOf(build), '-lgomp', '-lpthread', '-ldl'];
execFileSync('g++', ['-O1', '-std=c++17', ...headers, PROGRAM, ...linked, '-o', program]);
writeFileSync(assistant, await assistantBytes());
const known = existsSync(PREDICTOR_GOLDEN) ? readFileSync(PREDICTOR_GOLDEN, 'utf8').trim().split('\n') : [];
const lines: string[] = [];
for (const [name, of] of Object.entries(PREDICTOR_CASES)) {
  if (wanted.length > 0 && !wanted.includes(name)) {
    lines.push(...known.filter((line) => line.startsWith(`{"name":"${name}"`)));
    continue;
  }
  await using file = await modelOf(of);
  writeFileSync(model, await bytesOf(file));
  const texts = await predictedTexts(of, { drafts: false, maxTokens: LENGTH });
  for (const [index, said] of texts.entries()) {
    const prompt = PROMPTS[index] ?? [];
    const ids = [...prompt, ...said];
    const from = prompt.length + 1;
    const given = [model, of.assisted ? assistant : '-', `${GUESSES}`, `${from}`, ALLOWED.join()];
    const text = execFileSync(program, [...given, ...ids.map(String)], {
      ...{ stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
    });
    const drafts = JSON.parse(text) as number[][];
    const golden: PredictorGolden = { name, ids, prompt: prompt.length, from, drafts };
    lines.push(JSON.stringify(golden));
  }
  console.log(name);
}
rmSync(folder, { recursive: true });
writeFileSync(PREDICTOR_GOLDEN, lines.map((line) => `${line}\n`).join(''));
console.log(basename(PREDICTOR_GOLDEN));

/** The file's bytes. */
async function bytesOf({ tensors }: GgufFile): Promise<Uint8Array> {
  const source = tensors[0]?.source;
  if (!source) throw new Error('a model has tensors');
  const bytes = new Uint8Array(source.size);
  await source.read(0, bytes);
  return bytes;
}
