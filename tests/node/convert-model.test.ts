import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readTensors } from '../../src/convert/checkpoint.ts';
import { type ConvertChoices, planConvert } from '../../src/convert/convert-plan.ts';
import { convertRows } from '../../src/convert/convert-rows.ts';
import { pretokenizerName } from '../../src/convert/pretokenizer-name.ts';
import { F16, F32 } from '../../src/formats/index.ts';
import { type ByteSource, MemorySource } from '../../src/io/index.ts';
import { checkpointFolder, writeConverted } from '../../src/node/convert-model.ts';
import { openGguf } from '../../src/node/open-gguf.ts';
import { CHECKPOINTS } from '../support/checkpoints.ts';
import { writeCheckpoint } from '../support/write-checkpoint.ts';
import { type FileSummary, summaryOf } from '../support/file-summary.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** What llama.cpp's converter makes of the same checkpoints: `bench/converted.ts`. */
const GOLDENS = JSON.parse(
  readFileSync(join(PROJECT_ROOT, 'tests/fixtures/converted.json'), 'utf8'),
) as Readonly<Record<string, FileSummary>>;

/** The plan of a checkpoint; the files are closed with the test. */
async function planOf(t: TestContext, folder: string, choices: ConvertChoices) {
  const opened: ByteSource[] = [];
  t.after(() => Promise.all(opened.map((source) => source.dispose())));
  const files = checkpointFolder(folder);
  return planConvert(files, await readTensors(files, opened), choices);
}

for (const [name, { outtype }] of Object.entries(CHECKPOINTS)) {
  test(`${name} as ${outtype} is the file that llama.cpp's converter makes`, async (t) => {
    const folder = temporaryFolder(t);
    const plan = await planOf(t, writeCheckpoint(folder, name), { type: outtype });
    assert.deepEqual(plan.unread, { settings: [], tensors: [] });
    const path = join(folder, `${name}.gguf`);
    await writeConverted(plan, { path });
    await using gguf = await openGguf(path);
    assert.deepEqual(await summaryOf(gguf), GOLDENS[name]);
  });
}

/** What is refused rather than computed otherwise: the checkpoint, changes of its settings, and what the message says. */
const REFUSED: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ['llama', { architectures: ['MambaForCausalLM'] }, /architecture: found MambaForCausalLM, expected Llama/],
  ['llama', { hidden_act: 'gelu' }, /hidden_act: found "gelu", expected "silu"/],
  ['llama', { rope_scaling: { type: 'longrope' } }, /RoPE: found longrope/],
  ['llama', { quantization_config: { quant_method: 'awq' } }, /quantization_config/],
  ['llama', { hidden_size: undefined, head_dim: undefined }, /no hidden_size/],
  ['llama', { num_attention_heads: 5 }, /expected heads of/],
  ['mixtral', { num_local_experts: 5 }, /no expert 4 of blk\.0\.ffn_gate_exps\.weight/],
  ['qwen2', { use_sliding_window: true }, /use_sliding_window/],
  ['qwen2', { vocab_size: 200 }, /expected ids below vocab_size, 200/],
  ['qwen3moe', { norm_topk_prob: false }, /norm_topk_prob: found false, expected true/],
  ['qwen3moe', { architectures: ['Qwen2ForCausalLM'] }, /tensor: found model\.layers\.0\.mlp\.experts\.0\./],
  ['smollm3', { no_rope_layers: [1, 0] }, /no_rope_layers: found \[1,0\], expected \[1,1\]/],
  ['gemma2', { rope_theta: 500000 }, /rope_theta: found 500000, expected 10000/],
  ['qwen2moe', { norm_topk_prob: true }, /norm_topk_prob: found true, expected false/],
  ['gemma3', { sliding_window_pattern: 2 }, /sliding_window_pattern: found 2, expected 6/],
  ['lfm2', { conv_bias: true }, /conv_bias/],
  ['phi3', { rope_scaling: { type: 'longrope', long_factor: [1], short_factor: [1] } }, /expected 8, half/],
  ['gpt-oss', { swiglu_limit: 5 }, /swiglu_limit: found 5, expected 7/],
  [
    'gpt-oss',
    { quantization_config: { quant_method: 'awq' } },
    /quantization_config of awq, expected .* MXFP4/,
  ],
  ['gpt-oss', { layer_types: ['full_attention', 'full_attention'] }, /layer_types/],
  ['qwen35', { attn_output_gate: false }, /attn_output_gate: found false, expected true/],
  ['qwen35', { layer_types: ['full_attention'] }, /1 layer_types, expected 2/],
  ['bert', { position_embedding_type: 'relative_key' }, /position_embedding_type/],
  ['bert', { hidden_act: 'relu' }, /hidden_act: found "relu"/],
  ['bert', { architectures: ['BertForSequenceClassification'] }, /architecture: found BertForSequence/],
];

test('modules that are no list of JSON are refused', async (t) => {
  for (const text of ['[', '{}', 'null']) {
    const folder = temporaryFolder(t);
    const checkpoint = writeCheckpoint(folder, 'bert');
    writeFileSync(join(checkpoint, 'modules.json'), text);
    const error = { code: 'CHECKPOINT_INVALID', message: /modules\.json/ };
    await assert.rejects(planOf(t, checkpoint, { type: 'f16' }), error, text);
  }
});

for (const [name, changes, message] of REFUSED) {
  test(`${name} with ${JSON.stringify(changes)} is refused`, async (t) => {
    const folder = writeCheckpoint(temporaryFolder(t), name, changes);
    await assert.rejects(planOf(t, folder, { type: 'f16' }), message);
  });
}

test('settings that are not understood are named, and tensors of other parts', async (t) => {
  const folder = writeCheckpoint(temporaryFolder(t), 'qwen2', { new_trick: 3, attention_bias: true });
  writeFileSync(join(folder, 'generation_config.json'), '{"typical_p": 0.9, "top_k": 5}');
  const { unread } = await planOf(t, folder, { type: 'f16' });
  assert.deepEqual(unread, { settings: ['new_trick', 'generation_config.json: typical_p'], tensors: [] });
});

test('a template that ends texts with another token than turns is kept, as in embedding models', async (t) => {
  const folder = writeCheckpoint(temporaryFolder(t), 'qwen2');
  const path = join(folder, 'tokenizer.json');
  const tokenizer = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  const single = [
    { Sequence: { id: 'A', type_id: 0 } },
    { SpecialToken: { id: '<|endoftext|>', type_id: 0 } },
  ];
  writeFileSync(
    path,
    JSON.stringify({ ...tokenizer, post_processor: { type: 'TemplateProcessing', single } }),
  );
  const { plan } = await planOf(t, folder, { type: 'f16' });
  const settings = new Map(plan.metadata);
  assert.deepEqual(settings.get('tokenizer.ggml.eos_token_id'), { type: 'u32', value: 264 });
  assert.deepEqual(settings.get('tokenizer.ggml.eot_token_id'), { type: 'u32', value: 2 });
  assert.deepEqual(settings.get('tokenizer.ggml.add_eos_token'), { type: 'bool', value: true });
});

test('Qwen 3.5 without the layer that predicts is whole, whatever its settings say', async (t) => {
  const folder = writeCheckpoint(temporaryFolder(t), 'qwen35');
  const path = join(folder, 'model.safetensors');
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<string, unknown>;
  const kept = Object.fromEntries(Object.entries(header).filter(([name]) => !name.startsWith('mtp.')));
  const text = Buffer.from(JSON.stringify(kept).padEnd(length));
  writeFileSync(path, Buffer.concat([bytes.subarray(0, 8), text, bytes.subarray(8 + length)]));
  const { plan, tensors } = await planOf(t, folder, { type: 'f16' });
  assert.deepEqual(new Map(plan.metadata).get('qwen35.block_count'), { type: 'u32', value: 2 });
  assert.ok(!tensors.some(({ name }) => name.includes('nextn')));
});

test('older settings of LFM 2 name its layers of attention by their numbers', async (t) => {
  const changes = { layer_types: undefined, full_attn_idxs: [1] };
  const folder = writeCheckpoint(temporaryFolder(t), 'lfm2', changes);
  const { plan, unread } = await planOf(t, folder, { type: 'f16' });
  const heads = new Map(plan.metadata).get('lfm2.attention.head_count_kv');
  assert.deepEqual(heads, { type: 'array', element: 'i32', values: [0, 2] });
  assert.deepEqual(unread.settings, []);
});

test('broken checkpoints are typed errors', async (t) => {
  const parent = temporaryFolder(t);
  const folder = writeCheckpoint(parent, 'llama');
  const part = join(folder, 'model-00002-of-00002.safetensors');
  const whole = readFileSync(part);
  for (const bytes of [
    whole.subarray(0, 5),
    whole.subarray(0, 300),
    whole.subarray(0, -1),
    Buffer.alloc(64, 255),
  ]) {
    writeFileSync(part, bytes);
    await assert.rejects(planOf(t, folder, { type: 'f16' }), { code: 'CHECKPOINT_INVALID' });
  }
  writeFileSync(part, whole);
  writeFileSync(join(folder, 'tokenizer.model'), Buffer.from([0x0a, 0xff, 0x7f, 1]));
  await assert.rejects(planOf(t, folder, { type: 'f16' }), { code: 'CHECKPOINT_INVALID' });
  rmSync(join(folder, 'model.safetensors.index.json'));
  rmSync(part);
  await assert.rejects(planOf(t, folder, { type: 'f16' }), { code: 'CHECKPOINT_INVALID' });
  await assert.rejects(planOf(t, parent, { type: 'f16' }), /no safetensors/);
});

test('pre-tokenizers are told by their patterns, and others refused', () => {
  const split = (Regex: string) => ({
    type: 'Split',
    pattern: { Regex },
    behavior: 'Isolated',
    invert: false,
  });
  const bytes = { type: 'ByteLevel', use_regex: false };
  const llama3 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const sequence = (...pretokenizers: unknown[]) => ({ type: 'Sequence', pretokenizers });
  const nameOf = (pre: unknown, whole = false) =>
    pretokenizerName({ pre_tokenizer: pre, model: { ignore_merges: whole } });
  assert.equal(nameOf(sequence(split(llama3), bytes), true), 'llama-bpe');
  assert.equal(nameOf(sequence(split(llama3), bytes)), 'dbrx');
  assert.equal(nameOf({ type: 'ByteLevel', use_regex: true }), 'gpt-2');
  const digits = { type: 'Digits', individual_digits: true };
  assert.equal(nameOf(sequence(digits, { type: 'ByteLevel' })), 'smollm');
  for (const other of [
    split('x+'),
    { type: 'Metaspace' },
    sequence({ ...digits, individual_digits: false }),
  ]) {
    assert.throws(() => nameOf(other), { code: 'CONVERT_UNSUPPORTED' });
  }
});

test('a number that f16 does not hold is refused', () => {
  const stored = { name: 'x', format: F32, shape: [1, 2], source: new MemorySource(new Uint8Array(8)) };
  const piece = { stored: { ...stored, offset: 0, byteLength: 8 }, columns: 2, unit: 2, units: 1 };
  const bytes = new Uint8Array(Float32Array.of(1, 7e4).buffer);
  const target = { tensor: 'x', format: F16, firstElement: 0 };
  assert.throws(() => convertRows(bytes, piece, target), /a number beyond 65504 at 1/);
});

for (const name of ['phi3', 'qwen35', 'qwen35moe', 'gpt-oss']) {
  test(`${name} runs as it is converted`, async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'model.gguf');
    await writeConverted(await planOf(t, writeCheckpoint(folder, name), { type: 'f16' }), { path });
    const answer = await runCli(t, ['run', '-d', 'reference', '-m', path, '-p', 'ab', '-n', '2', '--raw']);
    assert.equal(answer.code, 0, answer.stderr);
  });
}

test('bert embeds as it is converted', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'model.gguf');
  await writeConverted(await planOf(t, writeCheckpoint(folder, 'bert'), { type: 'f16' }), { path });
  const { code, stdout, stderr } = await runCli(t, ['embed', '-d', 'reference', '-m', path, 'abc', '--json']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\[-?0\.\d+/);
});

test('convert writes a file that runs, with the sampling of the generation config', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'qwen.gguf');
  const args = ['convert', writeCheckpoint(folder, 'qwen2'), '-o', path, '--outtype', 'q8_0', '--json'];
  const done = await runCli(t, args);
  assert.equal(done.code, 0, done.stderr);
  const report = JSON.parse(done.stdout) as { architecture: string; tensors: { format: string }[] };
  assert.equal(report.architecture, 'qwen2');
  const answer = await runCli(t, ['run', '-d', 'reference', '-m', path, '-p', 'ab', '-n', '2', '--raw']);
  assert.equal(answer.code, 0, answer.stderr);
  assert.deepEqual(readdirSync(folder).toSorted(), ['qwen.gguf', 'qwen2']);
});
