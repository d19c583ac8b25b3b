import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BankSet } from '../../../src/devices/cpu/memory/bank-set.ts';
import { CpuProgram } from '../../../src/devices/cpu/program/cpu-program.ts';
import { WEIGHT_LAYOUTS } from '../../../src/devices/cpu/weight-layouts.ts';
import { F32, Q4_0, Q4_K } from '../../../src/formats/index.ts';
import {
  add,
  attention,
  GraphBuilder,
  gated,
  kvAppend,
  matmul,
  mul,
  type OpGraph,
  rmsNorm,
  rope,
  ropeTable,
  scale,
} from '../../../src/ops/index.ts';

const SHAPE = { rows: 4, outputs: 1, slots: 1, blocksPerSlot: 2 } as const;
const HEADS = { heads: 4, kvHeads: 2, keySize: 16, valueSize: 16 } as const;

function compile(graph: OpGraph, threads = 1): CpuProgram {
  const limits = { byteLength: 1 << 20, reservedBytes: 0, stagingBytes: 0 };
  const banks = new BankSet({ limits, memoryLimit: 0, spread: 1, onBank: () => {} });
  return new CpuProgram(graph, { banks, threads, layouts: WEIGHT_LAYOUTS });
}

/** Phases as the kinds of the calls of their tasks. */
function phasesOf(graph: OpGraph, threads = 1): string[][] {
  return compile(graph, threads).phases.map((tasks) =>
    tasks.map(({ calls }) => calls.map(({ table }) => table.kind).join(' ')),
  );
}

function llamaLayer(): OpGraph {
  const g = new GraphBuilder('layer', SHAPE);
  const weight = (name: string, rows: number, columns = 64) => g.weight(name, Q4_0, rows, columns);
  const norm = (name: string) => g.weight(name, F32, 1, 64);
  const x = g.input('x', { axis: 'rows', width: 64 });
  const table = ropeTable(g, { dimensions: 16, base: 10_000, scaling: { kind: 'none' } });
  const cache = {
    keys: g.state('keys', 'f16', 16, 32),
    values: g.state('values', 'f16', 16, 32),
    blocks: g.batch.blocks,
    blockSize: 8,
  };
  const normed = rmsNorm(g, x, norm('a'), 1e-5);
  const q = matmul(g, normed, weight('q', 64));
  const k = matmul(g, normed, weight('k', 32));
  const v = matmul(g, normed, weight('v', 32));
  kvAppend(g, cache, rope(g, k, { table, headSize: 16, pairs: 'neox' }), v);
  const turned = rope(g, q, { table, headSize: 16, pairs: 'neox' });
  const options = { ...HEADS, scale: 0.25 };
  const h = add(g, x, matmul(g, attention(g, turned, cache, options), weight('o', 64)));
  const n = rmsNorm(g, h, norm('b'), 1e-5);
  const wide = gated(g, 'silu', matmul(g, n, weight('gate', 96)), matmul(g, n, weight('up', 96)));
  g.output('y', add(g, h, matmul(g, wide, weight('down', 64, 96))));
  return g.finish();
}

test('a llama layer takes seven phases: what follows on the same rows or columns needs no barrier', () => {
  assert.deepEqual(phasesOf(llamaLayer()), [
    ['ropeTable', 'rmsNorm quantize'],
    ['matmul rope', 'matmul rope cacheAppend', 'matmul cacheAppend'],
    ['attention quantize'],
    ['matmul add'],
    ['rmsNorm quantize'],
    ['matmul matmul gated quantize'],
    ['matmul add'],
  ]);
});

test('a matrix keeps enough chunks for all threads', () => {
  const g = new GraphBuilder('wide', SHAPE);
  const x = g.input('x', { axis: 'rows', width: 2048 });
  const hidden = matmul(g, x, g.weight('up', Q4_K, 4096, 2048));
  g.output('y', matmul(g, hidden, g.weight('down', Q4_K, 2048, 4096)));
  const graph = g.finish();
  assert.deepEqual(phasesOf(graph, 2), [['quantize'], ['matmul quantize'], ['matmul']]);
  assert.deepEqual(phasesOf(graph, 16), [['quantize'], ['matmul'], ['quantize'], ['matmul']]);
});

test('an output is written when nobody reads an input any more, because it may lie over it', () => {
  const g = new GraphBuilder('in place', SHAPE);
  const x = g.input('x', { axis: 'rows', width: 8 });
  g.output('y', mul(g, scale(g, x, 2), x));
  assert.deepEqual(phasesOf(g.finish()), [['scale'], ['mul']]);
});

test('scratch that is alive in one phase does not overlap', () => {
  const program = compile(llamaLayer());
  assert.ok(program.scratchBytes > 0);
  const scratch = program.operands.filter(({ origin }) => origin.kind === 'scratch');
  const total = scratch.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(program.scratchBytes < total, 'memory is used again');
});

test('copies of whole tiles stay within what they copy, with any number of rows', () => {
  for (const rows of [1, 2, 4, 5]) {
    const g = new GraphBuilder('product', { ...SHAPE, rows });
    const x = g.input('x', { axis: 'rows', width: 64 });
    g.output('y', matmul(g, x, g.weight('w', Q4_0, 64, 64)));
    const { operands } = compile(g.finish());
    assert.ok(
      operands.some((operand) => operand.rows !== undefined && operand.rows.rowUnit > 1) === rows > 1,
    );
    for (const { name, byteLength, rows: divided } of operands) {
      if (!divided || divided.axis !== 'rows') continue;
      const { rowBytes, rowUnit } = divided;
      assert.ok(Math.ceil(rows / rowUnit) * rowUnit * rowBytes <= byteLength, `${name}, ${rows} rows`);
    }
  }
});
