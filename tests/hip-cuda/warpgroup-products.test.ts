import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HIP_CUDA_KERNELS } from '../../src/devices/hip-cuda/index.ts';
import type { KernelLaunch } from '../../src/devices/hip-cuda/launching/launch.ts';
import { Q4_K } from '../../src/formats/index.ts';
import { gated, GraphBuilder, matmul } from '../../src/ops/index.ts';
import { HOPPER } from '../support/launch-lists.ts';

/** How products of many rows are divided among blocks on Hopper. The kernel runs on such a card alone; here is what its blocks do with their launch. */

interface Product {
  readonly rows: number;
  readonly outputs: number;
  readonly columns: number;
  readonly isGated: boolean;
}

/** The launches of `warpgroup-product.hip` for a product. */
function launchesOf(of: Product, multiprocessors: number): readonly KernelLaunch[] {
  const { rows, outputs, columns } = of;
  const graph = new GraphBuilder('product', { rows, outputs: 1, slots: 1, blocksPerSlot: 1 });
  const x = graph.input('x', { axis: 'rows', width: columns });
  const product = (name: string) => matmul(graph, x, graph.weight(name, Q4_K, outputs, columns));
  graph.output('y', of.isGated ? gated(graph, 'silu', product('gate'), product('up')) : product('weight'));
  const lowered = HIP_CUDA_KERNELS.lower(graph.finish(), { ...HOPPER, multiprocessors });
  const launches = lowered.launches({ of: () => 2 ** 40, weight: () => 2 ** 41, scratch: 2 ** 42 });
  return launches.filter(
    (launch) => launch.kind === 'kernel' && launch.kernel === 'warpgroup_product',
  ) as KernelLaunch[];
}

/** The parts of k, in chunks, that are multiplied of each tile of `used` rows, by the tile's lines and rows: as `Work` of the kernel has them. */
function partsOf(
  launches: readonly KernelLaunch[],
  { columns }: Product,
  used: number,
): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  const chunks = Math.ceil(columns / 128);
  for (const { grid, args, module, cluster = 1 } of launches) {
    const [first = 0, groups = 0] = args.slice(-2).map(({ value }) => value);
    const down = Math.ceil(used / Number(module.defines['TILE_ROWS']));
    const [blocks, splits] = grid;
    for (let y = 0; y < splits; y++) {
      for (let x = 0; x < blocks; x++) {
        const [part, of] = [(x % cluster) + y, cluster * splits];
        const range = [part, part + 1].map((p) => Math.floor((chunks * p) / of)).join('-');
        for (let at = Math.floor(x / cluster); at < groups * down; at += blocks / cluster) {
          const tile = `${first + Math.floor(at / down)} ${at % down}`;
          parts.set(tile, [...(parts.get(tile) ?? []), range]);
        }
      }
    }
  }
  return parts;
}

const ROWS = [17, 32, 33, 64, 100, 129, 256, 300, 512, 640, 2048];
const SIZES = [
  [512, 4096],
  [1030, 2048],
  [4096, 4096],
  [6400, 1024],
  [28_672, 8192],
] as const;

for (const multiprocessors of [78, 114, 132]) {
  test(`each tile is multiplied once, and alike wherever its rows stand, by ${multiprocessors} multiprocessors`, () => {
    let count = 0;
    for (const rows of ROWS) {
      for (const [outputs, columns] of SIZES) {
        for (const isGated of [false, true]) {
          const product = { rows, outputs, columns, isGated };
          const launches = launchesOf(product, multiprocessors);
          const [one] = launches;
          if (rows > 32) assert.ok(one, JSON.stringify(product));
          if (!one) continue;
          count++;
          const tileRows = Number(one.module.defines['TILE_ROWS']);
          const across = Math.ceil(
            ((isGated ? 2 : 1) * outputs) / (64 * Number(one.module.defines['WARPGROUPS'])),
          );
          for (const used of [rows, Math.ceil(rows / 2), 1])
            checkTiles(product, launches, { used, tileRows, across });
        }
      }
    }
    assert.ok(count > 80);
  });
}

function checkTiles(
  product: Product,
  launches: readonly KernelLaunch[],
  { used, tileRows, across }: { used: number; tileRows: number; across: number },
): void {
  const parts = partsOf(launches, product, used);
  const down = Math.ceil(used / tileRows);
  const text = JSON.stringify({ ...product, used });
  assert.equal(parts.size, across * down, text);
  for (let group = 0; group < across; group++) {
    const first = parts.get(`${group} 0`) ?? [];
    // Side by side from the first chunk to the last one.
    const ends = first.map((range) => range.split('-').map(Number));
    const chunks = Math.ceil(product.columns / 128);
    assert.deepEqual(
      ends.map(([begin]) => begin),
      [0, ...ends.slice(0, -1).map(([, end]) => end)],
      text,
    );
    assert.equal(ends.at(-1)?.[1], chunks, text);
    for (let row = 1; row < down; row++) assert.deepEqual(parts.get(`${group} ${row}`), first, text);
  }
}
