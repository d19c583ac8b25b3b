import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Device } from '../../../src/device/index.ts';
import { openReferenceDevice } from '../../../src/devices/reference/index.ts';
import type { Op, State, Tensor } from '../../../src/ops/index.ts';
import { type CaseData, caseData, rowsInUse } from './case-data.ts';
import { ALL_CASES } from './cases/index.ts';
import { difference, elementsOf, stateRowBytes, stateRows } from './compare.ts';
import { type ContractContext, contractTest, skipsGroup } from './contract-context.ts';
import { type ContractOptions, selected } from './contract-options.ts';
import { limitOf, roundingOf } from './limits.ts';
import type { OpCase } from './op-case.ts';
import { type CaseRun, poisonedOutput, runCase } from './run-case.ts';

/** Every case of every operator, against the reference device. */
export function testOperators(context: ContractContext): void {
  if (skipsGroup(context, 'operator')) return;
  describe('operators', () => {
    for (const of of ALL_CASES) testCase(context, of);
  });
}

/** The name of a case's test. */
export function testName(of: OpCase): string {
  return `operator ${of.op}: ${of.name}`;
}

function testCase(context: ContractContext, of: OpCase): void {
  contractTest(context, testName(of), () => checkCase(context.device(), of, context.options));
}

/** The reference device's results, computed once for all devices of a test file. */
const EXPECTED = new WeakMap<OpCase, Promise<CaseRun>>();

function expectedOf(of: OpCase, data: CaseData): Promise<CaseRun> {
  const known = EXPECTED.get(of);
  if (known) return known;
  const computed = runOnReference(data);
  EXPECTED.set(of, computed);
  return computed;
}

async function runOnReference(data: CaseData): Promise<CaseRun> {
  await using reference = openReferenceDevice();
  return await runCase(reference, data);
}

/** Asserts that a device agrees with the reference on a case, or refuses it if its options say so. */
export async function checkCase(device: Device, of: OpCase, options: ContractOptions): Promise<void> {
  const data = caseData(of);
  if (selected(options.unsupported, testName(of))) {
    await assert.rejects(device.compile(data.graph), { code: 'OP_UNSUPPORTED' });
    return;
  }
  const relaxed = selected(options.relax, testName(of))?.nmse;
  const limits = data.graph.ops.map((op) => limitOf(op, options.exactF32 ?? false));
  const roundings = data.graph.ops.map((op) => roundingOf(op, rowsOf(op, of), options.roundsFrom));
  const rounding = roundings.reduce((sum, one) => sum + one, 0);
  const limit = relaxed ?? (of.limit?.nmse ?? Math.max(...limits)) + rounding;
  const expected = await expectedOf(of, data);
  const actual = await runCase(device, data);
  assert.deepEqual(actual.violations, []);
  for (const { name, tensor } of data.graph.outputs)
    compareOutput({ of, tensor, name, limit }, actual, expected);
  for (const [state, before] of data.states) compareState({ state, before, limit }, actual, expected);
}

function bytesOf(map: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array {
  const bytes = map.get(name);
  assert.ok(bytes, `${name} came back`);
  return bytes;
}

function compareOutput(
  { of, tensor, name, limit }: { of: OpCase; tensor: Tensor; name: string; limit: number },
  actual: CaseRun,
  expected: CaseRun,
): void {
  const have = bytesOf(actual.outputs, name);
  const want = bytesOf(expected.outputs, name);
  const used = (have.byteLength / tensorRows(tensor, of)) * rowsInUse(tensor, of.batch);
  const untouched = poisonedOutput(have.byteLength).subarray(used);
  if (of.unusedRows !== 'any')
    assert.deepEqual(have.subarray(used), untouched, `${name}: rows beyond those in use stay untouched`);
  const [haveUsed, wantUsed] = [have.subarray(0, used), want.subarray(0, used)];
  if (of.pairs?.includes(name)) {
    assert.deepEqual(pairHalf(haveUsed, 0, 'i32'), pairHalf(wantUsed, 0, 'i32'), `${name}: ids`);
    assertClose(name, pairHalf(haveUsed, 1, 'f32'), pairHalf(wantUsed, 1, 'f32'), limit);
    return;
  }
  const bound = tensor.type === 'i32' ? 0 : limit;
  assertClose(name, elementsOf(haveUsed, tensor.type), elementsOf(wantUsed, tensor.type), bound);
}

function assertClose(name: string, actual: Float64Array, expected: Float64Array, limit: number): void {
  assert.equal(difference(actual, expected, limit), undefined, name);
}

/** Every other word: the ids or the numbers of pairs. */
function pairHalf(bytes: Uint8Array, half: 0 | 1, type: 'i32' | 'f32'): Float64Array {
  return elementsOf(bytes, type).filter((_, i) => i % 2 === half);
}

/** The rows that a product multiplies. */
function rowsOf(op: Op, of: OpCase): number {
  return op.kind === 'matmul' ? tensorRows(op.x, of) : 0;
}

function tensorRows(tensor: Tensor, of: OpCase): number {
  return tensor.axis === 'one' ? 1 : of.batch.shape[tensor.axis];
}

/** Rows that the reference did not write must be unchanged bit for bit; those it wrote must be close. */
function compareState(
  { state, before, limit }: { state: State; before: Uint8Array; limit: number },
  actual: CaseRun,
  expected: CaseRun,
): void {
  const have = bytesOf(actual.states, state.name);
  const want = bytesOf(expected.states, state.name);
  const [haveRows, wantRows, rowsBefore] = [have, want, before].map((bytes) => stateRowBytes(bytes, state));
  const written: number[] = [];
  for (const [row, first] of (rowsBefore as Uint8Array[]).entries()) {
    const isChanged = (rows: Uint8Array[] | undefined) =>
      Buffer.compare(rows?.[row] as Uint8Array, first) !== 0;
    if (isChanged(wantRows)) written.push(row);
    else assert.ok(!isChanged(haveRows), `${state.name}: row ${row} was changed`);
  }
  const elements = (bytes: Uint8Array) => stateRows(bytes, state, written);
  assertClose(state.name, elements(have), elements(want), state.type === 'i32' ? 0 : limit);
}
