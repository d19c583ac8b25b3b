// What llama.cpp's drafter says behind ids, for the small DFlash drafters of the tests; their files are not stored, tests
// create them again. Needs a checkout of llama.cpp with static libraries for the CPU, as CMake builds them in its folder
// `build` with -DBUILD_SHARED_LIBS=OFF, and a C++ compiler: node dist/bench/dflash-goldens.js <checkout> [its build]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  dflashBytes,
  DFLASH_GOLDEN,
  DFLASH_KINDS,
  type DflashGolden,
} from '../tests/support/dflash-model.ts';
import { PROMPTS } from '../tests/support/drafted-texts.ts';
import { tinyBytes } from '../tests/support/tiny-model.ts';

const PROGRAM = fileURLToPath(new URL('../../bench/peer/dflash-logits.cc', import.meta.url));
const LIBRARIES = [
  'src/libllama.a',
  ...['ggml', 'ggml-cpu', 'ggml-base'].map((name) => `ggml/src/lib${name}.a`),
];

/** Every so many ids have their logits in a golden. */
const EVERY = 9;

const [checkout = '', built = join(checkout, 'build')] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
const [program, model, drafter] = ['program', 'model.gguf', 'drafter.gguf'].map((name) => join(folder, name));

function build(to: string): void {
  const headers = ['include', 'src', 'ggml/include'].map((name) => `-I${join(checkout, name)}`);
  const libraries = LIBRARIES.map((name) => join(built, name));
  execFileSync('c++', ['-O1', '-std=c++17', ...headers, PROGRAM, ...libraries, '-fopenmp', '-o', to]);
}

/** A row's logits of some ids, without those that are not in the drafter's vocabulary. */
function picked(row: readonly (number | null)[], ids: readonly number[] | undefined): [number, number][] {
  const wanted = ids ?? Array.from(row.keys()).filter((id) => id % EVERY === 0);
  return wanted.flatMap((id) => (typeof row[id] === 'number' ? [[id, row[id]] as [number, number]] : []));
}

build(program as string);
writeFileSync(model as string, await tinyBytes());
const lines: string[] = [];
for (const [kind, of] of Object.entries(DFLASH_KINDS)) {
  writeFileSync(drafter as string, await dflashBytes(of));
  for (const ids of PROMPTS) {
    const masks = of.block - 1;
    const given = [model, drafter, `${masks}`, ...ids.map(String)] as string[];
    const text = execFileSync(program as string, given, {
      stdio: ['ignore', 'pipe', 'ignore'],
      encoding: 'utf8',
    });
    const rows = JSON.parse(text) as (number | null)[][];
    const golden: DflashGolden = { kind, ids, rows: rows.map((row) => picked(row, of.ids)) };
    lines.push(JSON.stringify(golden));
  }
}
rmSync(folder, { recursive: true });
writeFileSync(DFLASH_GOLDEN, lines.map((line) => `${line}\n`).join(''));
console.log(basename(DFLASH_GOLDEN));
