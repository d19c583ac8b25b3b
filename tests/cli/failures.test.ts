import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NO_COMPILER } from '../support/hub/pulling.ts';
import { MAIN, runCliEach } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

/** A command line as a stranger would get it wrong, and what has to be said. `@` is a folder with the files below. */
type Failure = readonly [line: string, says: RegExp];

/** Those that cannot be meant end with 2. */
const MISTAKES: readonly Failure[] = [
  ['server', /unknown command 'server'\n\(Did you mean serve\?\)/],
  ['run -p', /'-p, --prompt <text>' argument missing/],
  ['run -n 1.5 -p x', /'1\.5' is invalid\. Expected a whole number, at least 1/],
  ['run --seed abc -p x', /'abc' is invalid\. Expected a whole number, at least 0/],
  ['run --stop  -p x', /An empty stop string ends no text: leave it out/],
  ['run --top-p 2 -p x', /--top-p: found 2, expected a number from 0 to 1/],
  ['run --device gpu -p x', /--device: found gpu, expected auto, hip, cuda/],
  ['run --threads 0 -p x', /'0' is invalid\. Expected a whole number, at least 1/],
  ['run --log loud', /Allowed choices are debug, trace/],
  ['run --json --json-stream -p x', /'--json-stream' cannot be used with option '--json'/],
  [
    'run --regex a --schema {} -p x',
    /'--(?:regex|schema) <[^>]+>' cannot be used with option '--(?:regex|schema)/,
  ],
  ['run --rope-scaling sometimes -p x', /Allowed choices are none, linear, yarn/],
  ['run --json-schema {} -p x', /unknown option '--json-schema'[\s\S]*\n--json-schema: here it is --schema/],
  ['run -ngl 99 -p x', /\n-ngl: here it is --gpu-layers/],
  ['run -sm layer -p x', /\n-sm: here it is --gpus/],
  ['serve -tp 2', /\n-tp: here it is --gpus 2$/m],
  ['serve --pipeline-parallel-size 2', /\n--pipeline-parallel-size: here it is --gpus 2x1/],
  ['run --n-predict 9 -p x', /\n--n-predict: here it is --max-tokens/],
  ['run --image cat.png -p x', /\n--image: models read text only/],
  ['serve -hf user/repo', /\n-hf: here it is -m hf:user\/repo:Q4_K_M/],
  ['run --prompt-file @/none.txt', /--prompt-file: found ENOENT.*, expected a file that can be read/],
  ['run --prompt-file @', /--prompt-file: found EISDIR/],
  ['run --prompt-file @/picture.png', /picture\.png, which is no text, expected text in UTF-8/],
  ['run --prompt-file @/windows.txt', /windows\.txt, which is in UTF-16, as PowerShell writes files/],
  ['run --system-file @/none.txt -p x', /--system-file: found ENOENT/],
  [
    'serve --models-memory 1GiB --workers process',
    /'--models-memory <size>' cannot be used with option '--workers <list>'/,
  ],
  ['serve --port http', /'http' is invalid\. Expected a whole number from 0 to 65535/],
  ['serve --port 99999', /'99999' is invalid\. Expected a whole number from 0 to 65535/],
  ['serve --api-key-file @/none -m @/tiny.gguf --port 0', /the key file: found .*none, expected a file/],
  ['quantize @/tiny.gguf Q4_K_X', /mix: found Q4_K_X, expected one of F32, F16/],
  [
    'quantize @/tiny.gguf Q8_0 -o @/tiny.gguf',
    /--output: found .*tiny\.gguf, expected another file than the source/,
  ],
  ['quantize @/tiny.gguf Q8_0 --tensor-format x', /Expected a pattern and a format, such as ffn_down=Q6_K/],
  [
    'quantize @/tiny.gguf Q8_0 --imatrix @/tiny.gguf',
    /found a file of general\.type.*, expected an importance matrix/,
  ],
  [
    'convert @/tiny.gguf',
    /folder: found the file .*tiny\.gguf, expected the folder of a model in safetensors/,
  ],
  ['convert @/whisper --outtype q4_k_m', /Allowed choices are/],
  ['split @/tiny.gguf --max-size big', /Expected a size such as 512MiB or 6GB/],
  ['join @/tiny.gguf', /found .*tiny\.gguf, a whole model, expected a part of one/],
  ['bench -p 1,x', /'1,x' is invalid/],
  [
    'imatrix -d reference -m @/tiny.gguf -f @/picture.png',
    /text: found .*picture\.png, which is no text, expected text in UTF-8/,
  ],
  ['tokenize --decode 1 85', /--decode: found 1 and 85, expected all ids in one argument, with commas/],
  ['tokenize --decode abc', /--decode: found abc, expected token ids/],
  ['completion powershell', /Allowed choices are bash, zsh, fish/],
  ['rerank -m @/tiny.gguf a', /required option '--query <text>' not specified/],
  ['compare @/tiny.gguf', /missing required argument 'model'/],
];

/** Those that may be meant and fail end with 1, and say what to do. */
const FAILURES: readonly Failure[] = [
  [
    'run -m llama3 -p x',
    /llama3 cannot be opened: ENOENT.*\nfix: .*Names of models begin with hf: or ollama:/,
  ],
  ['run -m @ -p x', /cannot be opened: it is a folder: name a GGUF file in it/],
  ['run -m @/page.gguf -p x', /as a web page does: the address is not that of the file/],
  ['run -m @/pointer.gguf -p x', /as the pointer to a file in Git LFS does/],
  ['run -m @/archive.gguf -p x', /as a zip archive or a checkpoint of PyTorch does/],
  ['run -m @/model.safetensors -p x', /as safetensors do: `rocmforge convert` makes a GGUF file/],
  ['run -m @/empty.gguf -p x', /the magic at 0 needs 4 bytes, but the file ends at 0/],
  ['run -m @/half.gguf -p x', /tensor "blk\..*" has \d+ bytes at \d+, but the file ends at/],
  ['inspect @/first.gguf', /found GGUF version 1, expected 2 or 3/],
  ['inspect @/swapped.gguf', /is a big-endian GGUF file of version 3/],
  ['pull hf:', /hf: does not name a model: expected user\/repo after the hub/],
  ['pull user/repo/', /user\/repo\/ does not name a model/],
  ['pull hf:user/repo', /cannot be opened: connect ECONNREFUSED.*\nfix: .*the network and its proxy/],
  [
    'run -m hf:user/repo --offline -p x',
    /hf:user\/repo is not in the cache, and the hub is not asked in offline mode/,
  ],
  ['rm hf:user/repo', /hf:user\/repo is not on this machine; there is no model here\nfix: .*rocmforge list/],
  ['verify hf:user/repo', /hf:user\/repo is not on this machine\nfix: .*rocmforge list/],
  ['run -d reference -m @/tiny.gguf -p x --grammar root::=foo', /there is no rule named foo/],
  ['run -d reference -m @/tiny.gguf -p x --regex (', /a group of the pattern has no end/],
  [
    'run -d reference -m @/tiny.gguf -p x --schema {"type":"text"}',
    /found "text", expected one of null, boolean/,
  ],
  [
    'run -d reference -m @/tiny.gguf -p x --chat-template-file @/broken.jinja',
    /chat template: invalid Jinja/,
  ],
  ['run -d reference -m @/tiny.gguf -p x --lora @/none.gguf', /none\.gguf cannot be opened: ENOENT/],
  ['run -d reference -m @/tiny.gguf -p x --lora @/tiny.gguf', /adapter tiny: found general\.type nothing/],
  [
    'run -d reference -m @/tiny.gguf -p x --control-vector @/tiny.gguf',
    /found general\.architecture llama, expected controlvector/,
  ],
  ['run -d reference -m @/tiny.gguf -p x --draft @/none.gguf', /none\.gguf cannot be opened: ENOENT/],
  ['embed -d reference -m @/tiny.gguf hi', /found a model that continues texts, expected an embedding model/],
  [
    'rerank -d reference -m @/tiny.gguf --query q d',
    /found a model that continues texts, expected a model with a classifier/,
  ],
  ['quantize @/tiny.gguf Q8_0 -o @/none/out.gguf', /out\.gguf cannot be written: there is no folder .*none/],
  ['convert @/nothing', /cannot be opened: ENOENT/],
  ['convert @/whisper', /found no safetensors, expected model\.safetensors/],
  ['bench -m @/tiny.gguf --compare @/none.json', /none\.json cannot be opened: ENOENT/],
];

/** Writes what the command lines name. */
async function writeFiles(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  const tiny = await tinyBytes('F32');
  const header = (version: readonly number[]) =>
    Buffer.from([0x47, 0x47, 0x55, 0x46, ...version, ...Array<number>(64).fill(0)]);
  const files: Readonly<Record<string, string | Uint8Array>> = {
    'tiny.gguf': tiny,
    'half.gguf': tiny.subarray(0, tiny.length >> 1),
    'empty.gguf': '',
    'page.gguf': '<!DOCTYPE html><html>not found',
    'pointer.gguf': 'version https://git-lfs.github.com/spec/v1\nsize 123\n',
    'archive.gguf': `PK\u0003\u0004${'.'.repeat(60)}`,
    'model.safetensors': `\u0002${'\0'.repeat(7)}{}`,
    'first.gguf': header([1, 0, 0, 0]),
    'swapped.gguf': header([0, 0, 0, 3]),
    'picture.png': Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0x80),
    'windows.txt': Buffer.from('\ufeffHello', 'utf16le'),
    'broken.jinja': '{% for m in messages %}{{ m.content }',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  mkdirSync(join(folder, 'whisper'));
  writeFileSync(join(folder, 'whisper/config.json'), '{"architectures":["WhisperForConditionalGeneration"]}');
  return folder;
}

test('what strangers get wrong is answered with what was found, and what to do', async (t) => {
  const folder = await writeFiles(t);
  const home = temporaryFolder(t);
  const nowhere = {
    HF_ENDPOINT: 'http://127.0.0.1:9',
    HF_HOME: home,
    XDG_CACHE_HOME: home,
    XDG_CONFIG_HOME: home,
  };
  const all = [...MISTAKES, ...FAILURES];
  const lines = all.map(([line]) => line.split(' ').map((word) => word.replace('@', folder)));
  const results = await runCliEach(t, lines, { ...nowhere, ...NO_COMPILER });
  for (const [i, [line, says]] of all.entries()) {
    await t.test(line, () => {
      const { code, stdout, stderr } = results[i] ?? assert.fail(line);
      assert.equal(stdout, '');
      assert.match(stderr, says);
      assert.equal(code, i < MISTAKES.length ? 2 : 1, stderr);
      assert.match(stderr, i < MISTAKES.length ? /^error: /m : /^error: .+\nfix: {3}.+\n$/m);
      assert.doesNotMatch(stderr, /\n {4}at |internal error/);
    });
  }
});

test('a folder that is gone, and a standard input that is no text, are named', async (t) => {
  const folder = temporaryFolder(t);
  const model = join(folder, 'tiny.gguf');
  writeFileSync(model, await tinyBytes('F32'));
  const words = `"${process.execPath}" "${MAIN}" run -d reference -n 1 -m "${model}"`;
  const run = (script: string) => spawnSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8' });
  const gone = run(`mkdir gone && cd gone && rmdir ../gone && ${words} hi`);
  assert.match(gone.stderr, /^error: the working folder cannot be opened: it was removed/);
  const bytes = run(`printf '\\377\\376x' | ${words}`);
  assert.match(bytes.stderr, /^error: standard input: found what is in UTF-16.*expected text in UTF-8/);
  assert.deepEqual([gone.status, bytes.status], [1, 2]);
});
