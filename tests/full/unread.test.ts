import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { type Logger, type LogFields, silentLogger } from '../../src/base/log.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel, type ModelOptions } from '../../src/engine/language-model.ts';
import type { GgufFile, GgufPlan, GgufValue } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { loadModel } from '../../src/index.ts';
import { writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';
import { F32 } from '../../src/formats/index.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import { FAMILY_FIXTURES, familyPaths } from '../support/family-fixtures.ts';
import { familyOfVariant, type FamilyVariant } from '../support/family-variant.ts';
import { predictingModel } from '../support/predicting-model.ts';
import { TINY, tinyModel } from '../support/tiny-model.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { join } from 'node:path';

/** Keeps what it is warned of. */
class Listener implements Logger {
  readonly warnings: LogFields[] = [];
  readonly enabled = silentLogger.enabled;
  readonly info = silentLogger.info;
  readonly debug = silentLogger.debug;
  readonly trace = silentLogger.trace;

  warn(_message: string, fields: LogFields = {}): void {
    this.warnings.push(fields);
  }

  get names(): string[] {
    return this.warnings.flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
  }
}

interface Tiny {
  readonly keys?: Readonly<Record<string, GgufValue>>;
  readonly extra?: Readonly<Record<string, readonly number[]>>;
}

/** The names that a tiny Llama with more in its file is warned of. */
async function warnedOf({ keys = {}, extra = {} }: Tiny, options: ModelOptions = {}): Promise<string[]> {
  const changed: GgufPlan['metadata'] = Object.entries(keys).map(([key, value]) => [
    key.startsWith('general.') ? key : `llama.${key}`,
    value,
  ]);
  const logger = new Listener();
  const gguf = await tinyModel('F32', changed, { extra });
  const device = openReferenceDevice();
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  try {
    const model = await LanguageModel.open(parts, { ...options, logger });
    await model.dispose();
  } catch (error) {
    await device[Symbol.asyncDispose]();
    throw error;
  }
  return logger.names;
}

const real = (value: number): GgufValue => ({ type: 'f32', value });
const whole = (value: number): GgufValue => ({ type: 'u32', value });
const flag = (value: boolean): GgufValue => ({ type: 'bool', value });

const REFUSED: Readonly<Record<string, Tiny & { readonly names: RegExp }>> = {
  'a norm of heads': { extra: { 'blk.1.attn_q_norm.weight': [16] }, names: /blk\.1\.attn_q_norm\.weight/ },
  'norms behind each half, of all layers': {
    extra: Object.fromEntries([0, 1, 2].map((i) => [`blk.${i}.post_ffw_norm.weight`, [TINY.width]])),
    names: /blk\.\*\.post_ffw_norm\.weight \(3\)/,
  },
  'attention sinks': { extra: { 'blk.0.attn_sinks.weight': [4] }, names: /attn_sinks/ },
  'a bias of a norm': { extra: { 'output_norm.bias': [TINY.width] }, names: /output_norm\.bias/ },
  'experts beside a dense model': {
    extra: { 'blk.0.ffn_gate_exps.weight': [TINY.width, TINY.hidden, 2] },
    names: /ffn_gate_exps/,
  },
  'a scale of nothing': { extra: { 'blk.0.ffn_gate_exps.scale': [2] }, names: /ffn_gate_exps\.scale/ },
  'a layer more': { extra: { 'blk.3.attn_norm.weight': [TINY.width] }, names: /blk\.3\.attn_norm/ },
  'rows that see the whole text': {
    keys: { 'attention.causal': flag(false) },
    names: /llama\.attention\.causal/,
  },
  'wider results': { keys: { embedding_length_out: whole(128) }, names: /llama\.embedding_length_out/ },
};

for (const [name, { names, ...tiny }] of Object.entries(REFUSED)) {
  test(`refused, unless it is allowed: ${name}`, async () => {
    await assert.rejects(warnedOf(tiny), (error) => {
      assert.ok(isRocmforgeError(error, 'MODEL_UNREAD'), String(error));
      assert.match(error.message, names);
      assert.match(error.fix, /--allow-unread/);
      return true;
    });
    const warned = await warnedOf(tiny, { allowUnread: true });
    assert.equal(warned.length, 1);
  });
}

const WARNED: Readonly<Record<string, Tiny & { readonly names: readonly string[] }>> = {
  'scales and caps that Llama has not': {
    keys: {
      logit_scale: real(0.5),
      final_logit_softcapping: real(30),
      attn_logit_softcapping: real(50),
      'rope.scaling.yarn_log_multiplier': real(0.2),
      'attention.temperature_scale': real(0.1),
      'attention.scale': real(0.3),
    },
    names: [
      'llama.logit_scale',
      'llama.final_logit_softcapping',
      'llama.attn_logit_softcapping',
      'llama.rope.scaling.yarn_log_multiplier',
      'llama.attention.temperature_scale',
      'llama.attention.scale',
    ],
  },
  'a key that nobody knows': { keys: { 'attention.twist': real(1) }, names: ['llama.attention.twist'] },
  'a sampler that there is not': {
    keys: { 'general.sampling.sequence': { type: 'string', value: 'top_k;sieve;temp' } },
    names: ['general.sampling.sequence'],
  },
  'images, a classifier, frequencies': {
    extra: {
      'v.patch_embd.weight': [4],
      'mm.0.weight': [4],
      'cls.output.weight': [4],
      'blk.0.attn_rot_embd': [4],
    },
    names: ['v.patch_embd.weight', 'mm.0.weight', 'cls.output.weight', 'blk.0.attn_rot_embd'],
  },
  'what activations would be stored with': {
    extra: { 'blk.0.attn_q.input_scale': [1] },
    names: ['blk.0.attn_q.input_scale'],
  },
};

for (const [name, { names, ...tiny }] of Object.entries(WARNED)) {
  test(`warned of: ${name}`, async () => assert.deepEqual(await warnedOf(tiny), names));
}

test('values that change nothing are passed over, and what is read is not reported', async () => {
  const keys = {
    vocab_size: whole(261),
    logit_scale: real(0),
    final_logit_softcapping: real(0),
    residual_scale: real(1),
    'attention.causal': flag(true),
    'attention.scale': real(0),
    'attention.clamp_kqv': real(0),
    'attention.key_length': whole(16),
    'attention.key_length_swa': whole(16),
    embedding_length_out: whole(TINY.width),
    expert_count: whole(0),
    expert_weights_scale: real(2.5),
    'rope.scaling.finetuned': flag(true),
    'rope.scaling.yarn_beta_fast': real(16),
    use_parallel_residual: flag(false),
  };
  const extra = { 'rope_freqs.weight': [8], 'blk.0.attn_q.bias': [TINY.width], 'blk.1.ffn_up.scale': [1] };
  assert.deepEqual(await warnedOf({ keys, extra }), []);
});

async function warnedFixture(path: string): Promise<string[]> {
  const logger = new Listener();
  await using model = await loadModel(path, { device: 'cpu', threads: 1, logger });
  assert.ok(model.context > 0);
  return logger.names;
}

test('a layer that predicts further tokens is said to run where it can', async () => {
  const reasonOf = async (gguf: GgufFile): Promise<string> => {
    const logger = new Listener();
    const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
    await using _model = await LanguageModel.open(parts, { logger });
    return logger.warnings.map(({ reason }) => String(reason)).join();
  };
  assert.match(await reasonOf(await predictingModel('glm4moe')), /if it is asked for \(--draft mtp\)/);
  const two = await predictingModel('step35', { sizes: { layers: 4 }, blocks: 2 });
  assert.match(await reasonOf(two), /never runs: only layer 2 does/);
  const keys: GgufPlan['metadata'] = [
    ['llama.block_count', whole(4)],
    ['llama.nextn_predict_layers', whole(1)],
  ];
  const extra = { 'blk.3.nextn.enorm.weight': [TINY.width] };
  const file = await tinyModel('F32', keys, { extra });
  assert.match(await reasonOf(file), /never runs: llama is computed without drafts of its own/);
  const again = await tinyModel('F32', keys, { extra });
  const parts = { gguf: again, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await assert.rejects(LanguageModel.open(parts, { predictor: true, speculation: 2 }), (error) => {
    assert.ok(isRocmforgeError(error, 'DRAFT_UNSUPPORTED'));
    return /which is not computed for llama/.test(error.message);
  });
});

test('a last layer that is counted as one that predicts further tokens, but is like the others, is refused', async () => {
  const keys: GgufPlan['metadata'] = [
    ['llama.block_count', whole(4)],
    ['llama.nextn_predict_layers', whole(1)],
  ];
  const gguf = await tinyModel('F32', keys, { extra: { 'blk.3.attn_norm.weight': [TINY.width] } });
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await assert.rejects(LanguageModel.open(parts), (error) => {
    assert.ok(isRocmforgeError(error, 'MODEL_UNREAD'));
    return /counts, but that predicts nothing/.test(error.message);
  });
});

test('the fixture of every family is read whole', async () => {
  for (const family of FAMILY_FIXTURES) {
    const expected = family.name === 'mixtral' ? ['llama.expert_feed_forward_length'] : [];
    assert.deepEqual(await warnedFixture(familyPaths(family).model), expected, family.name);
  }
});

test('scales that llama.cpp leaves out are warned of by layer, and nothing is multiplied by them', async (t) => {
  const variant: FamilyVariant = {
    name: 'qwen2moe',
    architecture: 'qwen2moe',
    idle: { 'ffn_up_exps.scale': [6], 'ffn_down_shexp.scale': [1] },
  };
  const path = join(temporaryFolder(t), 'scales.gguf');
  const shape = syntheticShape('tiny', { architecture: variant.architecture });
  await writeSyntheticModel({
    path,
    name: 'tiny',
    shape,
    family: familyOfVariant(variant),
    format: F32,
    seed: 1,
  });
  assert.deepEqual(await warnedFixture(path), ['blk.0.ffn_up_exps.scale', 'blk.0.ffn_down_shexp.scale']);
});
