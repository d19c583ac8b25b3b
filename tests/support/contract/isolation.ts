import assert from 'node:assert/strict';
import type { Device } from '../../../src/device/index.ts';
import { caseData } from './case-data.ts';
import { LAYER_CASES } from './cases/layer.ts';
import { type ContractContext, contractTest, skipsGroup } from './contract-context.ts';
import type { Fill, OpCase } from './op-case.ts';
import { runCase } from './run-case.ts';
import { namedLike } from '../named.ts';

/** Layers with prompts of several sequences, which share a device's tiles. */
export const ISOLATION_CASES: readonly OpCase[] = namedLike(
  LAYER_CASES,
  /f16 cache, neox, 101 rows$/,
  /q8_0 cache, neox, normed, 101 rows$/,
);

/** NaN in one sequence's cache must not affect the rows of another. */
export function testIsolation(context: ContractContext): void {
  if (skipsGroup(context, 'isolation')) return;
  for (const of of ISOLATION_CASES) {
    contractTest(context, isolationTestName(of), () => checkIsolation(context.device(), of));
  }
}

/** The name of an isolation test. */
export function isolationTestName(of: OpCase): string {
  return `isolation: NaN stays in its sequence, ${of.name}`;
}

/**
 * Runs a layer without NaN and with NaN in a sequence's first values, and compares the other sequences' rows bit for bit.
 */
export async function checkIsolation(device: Device, of: OpCase): Promise<void> {
  const { batch } = of;
  const rows = await rowsOf(device, of);
  // What comes before a sequence may reach it, and what comes behind.
  for (const slot of new Set([batch.slots[0], batch.slots.at(-1)]))
    await checkOthers(device, of, slot as number, rows);
}

/** Compares with `rows`, those without NaN. */
async function checkOthers(
  device: Device,
  of: OpCase,
  slot: number,
  rows: readonly Float32Array[],
): Promise<void> {
  const { batch } = of;
  const cell = (batch.blocks[slot]?.[0] as number) * batch.blockSize;
  const values: Fill = (elements, random) => {
    of.fill?.['values']?.(elements, random);
    const width = elements.length / batch.cells;
    elements.fill(Number.NaN, cell * width, (cell + 1) * width);
  };
  const poisoned = await rowsOf(device, { ...of, fill: { ...of.fill, values } });
  for (const [row, own] of batch.slots.entries()) {
    if (own !== slot) assert.deepEqual(poisoned[row], rows[row], `row ${row} of slot ${own}`);
  }
}

async function rowsOf(device: Device, of: OpCase): Promise<Float32Array[]> {
  const bytes = (await runCase(device, caseData(of))).outputs.get('y');
  assert.ok(bytes, 'the layer has a result');
  const rowBytes = bytes.byteLength / of.batch.shape.rows;
  return of.batch.slots.map(
    (_, row) => new Float32Array(bytes.slice(row * rowBytes, (row + 1) * rowBytes).buffer),
  );
}
