/** The logits of the tests' DFlash drafters, by a device and as llama.cpp computes them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Device } from '../../src/device/index.ts';
import { AsyncModelLoader } from '../../src/load/async-model-loader.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { readDrafter } from '../../src/model/drafter.ts';
import { DEFAULT_SAMPLING } from '../../src/ops/index.ts';
import { SAMPLING_ROW_WORDS, writeSamplingRow } from '../../src/ops/sampling/sampling-row.ts';
import { ExecutionPlan } from '../../src/plan/execution-plan.ts';
import { describeModel } from '../../src/plan/parts/plan-options.ts';
import { forward } from '../../src/runtime/forward-rows.ts';
import { MaskProposer } from '../../src/runtime/mask-proposer.ts';
import { SequencePlace } from '../../src/scheduler/continuous-batcher.ts';
import { stateOf } from '../../src/state/state-of.ts';
import {
  DFLASH,
  DFLASH_GOLDEN,
  DFLASH_KINDS,
  type DflashGolden,
  dflashModel,
  EVERYTHING,
} from './dflash-model.ts';
import { tinyModel } from './tiny-model.ts';

/** The largest difference of a logit from llama.cpp's, which looks GELU up in a table of halves. */
const TOLERANCE = 2e-3;

/** llama.cpp's logits of each kind of drafter, behind each prompt. */
export function dflashGoldens(): readonly DflashGolden[] {
  const lines = readFileSync(DFLASH_GOLDEN, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as DflashGolden);
}

/** The longest prompt's of the drafter that has everything. */
export function hardestDflashGolden(): DflashGolden {
  const golden = dflashGoldens().findLast(({ kind }) => DFLASH_KINDS[kind] === EVERYTHING);
  assert.ok(golden);
  return golden;
}

/** Compares the logits of each mask, by id, with llama.cpp's, which leaves the bound of the logits to its sampler. */
export function matchesGolden(
  { kind, rows }: DflashGolden,
  logitsOf: (row: number, id: number) => number,
): void {
  const isBounded = DFLASH_KINDS[kind]?.extras === true;
  for (const [row, logits] of rows.entries()) {
    for (const [id, logit] of logits) {
      const expected = isBounded ? DFLASH.softCap * Math.tanh(logit / DFLASH.softCap) : logit;
      const difference = Math.abs(logitsOf(row, id) - expected);
      assert.ok(difference < TOLERANCE, `${kind}, mask ${row}, id ${id}: ${difference} from ${expected}`);
    }
  }
}

/** Computes the logits of a golden on a device, and compares them. */
export async function deviceMatchesGolden(device: Device, golden: DflashGolden): Promise<void> {
  const { kind, ids, rows } = golden;
  const of = DFLASH_KINDS[kind];
  assert.ok(of);
  await using gguf = await tinyModel();
  await using draft = await dflashModel(of);
  await using loader = new AsyncModelLoader(device);
  const source = { gguf, device, architectures: ALL_ARCHITECTURES };
  const drafter = await readDrafter(draft, { gguf, config: describeModel(source, {}).config });
  const options = {
    context: 64,
    batch: 64,
    speculation: rows.length,
    predictor: true,
    cacheType: 'f32',
  } as const;
  await using plan = await ExecutionPlan.fromGguf({ ...source, drafter }, loader, options);
  await using stream = device.createStream('drafts');
  const state = stateOf(plan.setup.state);
  const computed = ids.length - 1;
  await forward({ plan, state, stream }, [
    { ids: ids.slice(0, -1), slot: 0, first: 0, outputs: 1, adapters: [] },
  ]);
  const sampling = new Int32Array(SAMPLING_ROW_WORDS);
  writeSamplingRow({ ...DEFAULT_SAMPLING, temperature: 0 }, sampling);
  const proposer = new MaskProposer(
    {
      state,
      target: () => ({ plan, stream }),
      latestStep: () => 0,
      reserve: (_, count) => state.reserve(0, computed, ids.length + count),
    },
    plan.setup.draftMask ?? -1,
  );
  const place = Object.assign(new SequencePlace(), { slot: 0, computed });
  const sequence = { ids, place, sampling, prediction: undefined, stopTokens: new Set<number>() };
  const drafts = await proposer.follow(sequence).propose(rows.length);
  const { vocabulary } = plan;
  const logits = new Float32Array(rows.length * vocabulary);
  // The name of a value within the predictor.
  const range = plan.result('draft logits' as string as Parameters<typeof plan.result>[0]);
  await stream.download(range, new Uint8Array(logits.buffer));
  matchesGolden(golden, (row, id) => logits[row * vocabulary + id] as number);
  const best = rows.map((_, row) => {
    const own = logits.subarray(row * vocabulary, (row + 1) * vocabulary);
    return own.indexOf(Math.max(...own));
  });
  assert.deepEqual(drafts, best);
}
