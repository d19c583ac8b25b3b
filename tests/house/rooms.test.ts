import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { test } from 'node:test';
import { circleIn } from './circles.ts';
import { sourceImports } from './imports.ts';

/**
 * The sub-rooms of each folder, in order: files of a sub-room import from those that stand before it, never from one behind.
 * What they share stands in files beside them.
 */
const ORDER: Readonly<Record<string, readonly string[]>> = {
  base: ['errors'],
  browser: ['store'],
  cli: ['commands'],
  convert: ['families'],
  device: ['packing', 'gpu', 'host'],
  'devices/cpu': ['native', 'memory', 'protocol', 'lowering', 'program', 'host', 'worker', 'decoding'],
  'devices/cpu/worker': ['calls'],
  'devices/hip-cuda': ['driver', 'compiler', 'memory', 'peers', 'texts', 'launching', 'lowering', 'streams'],
  'devices/hip-cuda/launching': ['blas'],
  'devices/reference': ['ops'],
  'devices/webgpu': ['kernels', 'memory', 'launching', 'lowering', 'streams'],
  'devices/webgpu/kernels': ['library'],
  engine: ['remote'],
  formats: ['tables', 'encoding'],
  grammar: ['regex', 'parser', 'gbnf', 'schema', 'mask'],
  model: ['lora', 'blocks', 'stacks', 'architectures', 'unread', 'synthetic'],
  node: ['hub'],
  ops: ['sampling', 'experts'],
  'ops/sampling': ['stages'],
  plan: ['taps', 'experts', 'inputs', 'ranks', 'parts', 'memory', 'weights', 'steps'],
  runtime: ['jobs', 'opening'],
  server: [
    'storage',
    'fields',
    'generation',
    'embedding',
    'openai',
    'anthropic',
    'batches',
    'llama-cpp',
    'vllm',
    'ollama',
    'service',
  ],
  text: ['dialects', 'constrained', 'models'],
  'text/dialects': ['forced', 'calls'],
};

/** The sub-rooms that others than their parent import from. What is in all others is their parent's. */
const OPEN: ReadonlySet<string> = new Set([
  'devices/cpu/decoding',
  'devices/cpu/worker',
  'devices/hip-cuda/driver',
  'devices/hip-cuda/launching/blas',
  'devices/webgpu/kernels/library',
  'engine/remote',
  'model/architectures',
  'model/lora',
  'model/synthetic',
  'model/unread',
  'node/hub',
  'ops/experts',
  'ops/sampling',
  'plan/memory',
  'plan/parts',
  'plan/steps',
  'plan/taps',
  'runtime/jobs',
  'runtime/opening',
  'text/constrained',
]);

/** An import from one file of `src/` to another, without that folder's name. */
interface Edge {
  readonly from: string;
  readonly to: string;
}

const EDGES: readonly Edge[] = sourceImports().flatMap(({ file, own }) =>
  own.map((target) => ({ from: within('src', file), to: within('src', target) })),
);

function within(folder: string, path: string): string {
  return posix.relative(folder, path);
}

/** True for a folder inside a room; each device is a room of its own. */
function isInside(folder: string): boolean {
  return folder.replace(/^devices\//, '').includes('/');
}

/** All folders inside rooms. */
function subRooms(): string[] {
  const folders = new Set<string>();
  for (const { from } of EDGES) {
    for (let folder = posix.dirname(from); isInside(folder); folder = posix.dirname(folder)) {
      folders.add(folder);
    }
  }
  return [...folders].sort();
}

/** What of a folder a file belongs to: one of its sub-rooms, or the file itself. */
function unitOf(folder: string, file: string): string {
  return within(folder, file).split('/')[0] as string;
}

/** The imports between different units of a folder; its index gives out what is in it and stands above all. */
function edgesWithin(folder: string): Edge[] {
  return EDGES.filter(({ from, to }) => from.startsWith(`${folder}/`) && to.startsWith(`${folder}/`))
    .map(({ from, to }) => ({ from: unitOf(folder, from), to: unitOf(folder, to) }))
    .filter(({ from, to }) => from !== to && from !== 'index.ts');
}

test('every sub-room has its place among its siblings', () => {
  const nowhere = subRooms().filter((room) => !ORDER[posix.dirname(room)]?.includes(posix.basename(room)));
  assert.deepEqual(nowhere, []);
});

test('a sub-room imports from those before it, and no file beside it both uses it and is used by it', () => {
  for (const [folder, order] of Object.entries(ORDER)) {
    const edges = edgesWithin(folder);
    const wrong = edges.filter(
      ({ from, to }) => order.indexOf(to) > order.indexOf(from) && order.includes(from),
    );
    assert.deepEqual(wrong, [], folder);
    const graph = new Map<string, string[]>();
    for (const { from, to } of edges) graph.set(from, [...(graph.get(from) ?? []), to]);
    assert.equal(circleIn(graph), undefined, folder);
  }
});

test('what is inside a sub-room is imported by its parent alone, unless it is open', () => {
  const wrong: string[] = [];
  for (const { from, to } of EDGES) {
    for (let room = posix.dirname(to); isInside(room); room = posix.dirname(room)) {
      if (OPEN.has(room) || from.startsWith(`${posix.dirname(room)}/`)) continue;
      wrong.push(`${from} imports ${to}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('no sub-room is open for nobody', () => {
  const idle = [...OPEN].filter(
    (room) =>
      !EDGES.some(({ from, to }) => to.startsWith(`${room}/`) && !from.startsWith(`${posix.dirname(room)}/`)),
  );
  assert.deepEqual(idle, []);
});
