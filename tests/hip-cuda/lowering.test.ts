import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HIP_CUDA_KERNELS } from '../../src/devices/hip-cuda/index.ts';
import { BF16, F16, F32, Q4_K, type TensorFormat } from '../../src/formats/index.ts';
import { checkOneLayout, layerOf } from '../support/layer-graphs.ts';
import { AMD_TARGETS } from '../support/hip-cuda/amd-targets.ts';
import { LISTED_TARGETS, type ListedLaunch } from '../support/launch-lists.ts';

for (const target of AMD_TARGETS) {
  test(`plans of all capacities want their weights in one layout on ${target.name}`, () =>
    checkOneLayout((graph) => HIP_CUDA_KERNELS.lower(graph, target).weights));
}

/** The launches of a step of so many sequences on a Hopper, or of so many rows of fewer. */
async function launchesOf(
  shape: string,
  rows: number,
  { slots = rows, format = Q4_K }: { slots?: number; format?: TensorFormat } = {},
): Promise<readonly ListedLaunch[]> {
  const [hopper] = LISTED_TARGETS;
  const graph = await layerOf(shape, { rows, slots }, format);
  return hopper?.launches(graph) ?? [];
}

function kernelsOf(launches: readonly ListedLaunch[]): Set<string> {
  return new Set(launches.map(({ kernel }) => kernel));
}

test('from three rows on, packed weights meet the matrix cores of NVIDIA, and each choice of experts is multiplied by itself up to four', async () => {
  for (const rows of [1, 2]) {
    const kernels = kernelsOf(await launchesOf('llama-3-8b', rows));
    assert.ok(kernels.has('matvec') && !kernels.has('product'), `${rows}: ${[...kernels].join(' ')}`);
  }
  for (const rows of [3, 4, 8]) {
    const kernels = kernelsOf(await launchesOf('llama-3-8b', rows));
    assert.ok(kernels.has('product') && !kernels.has('matvec'), `${rows}: ${[...kernels].join(' ')}`);
  }
  const few = kernelsOf(await launchesOf('qwen3-30b-a3b', 4));
  assert.ok(few.has('expert_matvec') && few.has('product') && !few.has('matvec'), [...few].join(' '));
  assert.ok(kernelsOf(await launchesOf('qwen3-30b-a3b', 8)).has('expert_product'));
});

test('a few rows of one sequence attend row by row, so that its context is partitioned', async () => {
  for (const rows of [2, 3, 4]) {
    const kernels = kernelsOf(await launchesOf('llama-3-8b', rows, { slots: 1 }));
    assert.ok(kernels.has('attention') && !kernels.has('attention_tiles'), `${rows}`);
  }
});

test('a kernel of one or two rows is compiled for their length', async () => {
  for (const rows of [1, 2]) {
    const found = (await launchesOf('llama-3-8b', rows)).filter(({ kernel }) => kernel === 'matvec');
    const lengths = found.map(({ details }) => /GROUPS=(\d+)/.exec(details)?.[1]);
    assert.deepEqual([...new Set(lengths)].sort(), ['128', '448']);
  }
});

test('a layer of unquantized weights takes few launches for a few rows, which merge attention and combine gates with ups', async () => {
  for (const format of [F32, F16, BF16]) {
    // From three rows on, those of 16 bits meet the matrix cores.
    for (const rows of format === F32 ? [1, 2, 3, 4] : [1, 2]) {
      for (const shape of ['llama-3-8b', 'qwen3-8b']) {
        const kernels = (await launchesOf(shape, rows, { format })).map(({ kernel }) => kernel);
        const heads = shape === 'qwen3-8b' ? 'heads_norm_append' : 'heads_append';
        const norm = ['rms_norm', 'float_matvec'];
        assert.deepEqual(
          kernels.slice(kernels.indexOf('rms_norm')),
          [...norm, heads, 'attention', 'float_matvec', ...norm, 'float_matvec'],
          `${shape}, ${format.name}, ${rows} rows`,
        );
      }
    }
  }
});

test('from three rows on, large weights of 16 bits meet the matrix cores of NVIDIA, small ones from five on', async () => {
  for (const format of [F16, BF16]) {
    for (const rows of [3, 4, 5]) {
      const large = kernelsOf(await launchesOf('llama-3-8b', rows, { format }));
      assert.ok(large.has('split_product') && !large.has('float_matvec'), [...large].join(' '));
      const small = kernelsOf(await launchesOf('llama-tiny', rows, { format }));
      assert.equal(small.has('split_product'), rows > 4, [...small].join(' '));
      assert.equal(small.has('float_matvec'), rows <= 4, [...small].join(' '));
    }
  }
});

test('sums of which blocks divide k are added up by the launch behind them, those at the end by one of their own', async () => {
  const launches = await launchesOf('llama-3-8b', 64);
  const kernels = launches.map(({ kernel }) => kernel);
  const textOf = (kernel: string) => launches.find((launch) => launch.kernel === kernel)?.details ?? '';
  assert.match(textOf('heads_append'), /PIECES=[2-8] /);
  // The first rows come from the layer before, those behind attention are the residual of its output's product.
  const converted = launches.filter(({ kernel }) => kernel === 'convert_f16');
  assert.deepEqual(
    converted.map(({ details }) => /PIECES=(\d)/.exec(details)?.[1] !== '0'),
    [false, true],
  );
  assert.deepEqual(
    kernels.filter((kernel) => kernel === 'finish_product'),
    ['finish_product'],
  );
  assert.equal(kernels.at(-1), 'finish_product');
});
