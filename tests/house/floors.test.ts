import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from '../support/project.ts';
import { circleIn } from './circles.ts';
import { sourceImports } from './imports.ts';

/** The house: a file imports from lower floors only, never from a sibling folder of its own floor. */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['io', 'formats', 'grammar', 'jinja'],
  ['gguf', 'ops'],
  ['model', 'device', 'quantize'],
  [
    'calls',
    'text',
    'load',
    'state',
    'devices/cpu',
    'devices/group',
    'devices/hip-cuda',
    'devices/reference',
    'devices/remote',
    'devices/null',
    'devices/webgpu',
  ],
  ['plan', 'scheduler', 'convert'],
  ['runtime'],
  ['engine'],
  ['evaluate', 'server'],
  ['node', 'browser'],
  ['cli', 'entries', 'integrations', 'index.ts'],
];

const PLATFORM_FLOOR = 9;

/** What decides without a device: models record graphs, state and scheduler keep book. */
const PURE: readonly string[] = ['model', 'state', 'scheduler'];

/** What that is computed with. */
const PURE_IMPORTS: readonly string[] = ['base', 'io', 'formats', 'gguf', 'ops', 'model', 'state'];

function placeOf(path: string): { floor: number; room: string } {
  const inside = path.replace(/^src\//, '');
  for (const [floor, rooms] of FLOORS.entries()) {
    const room = rooms.find((name) => inside === name || inside.startsWith(`${name}/`));
    if (room !== undefined) return { floor, room };
  }
  throw new Error(`${path} stands on no floor of the house`);
}

test('every file imports from lower floors or its own room', () => {
  const wrong: string[] = [];
  for (const { file, own } of sourceImports()) {
    const here = placeOf(file);
    for (const target of own) {
      const there = placeOf(target);
      if (there.floor > here.floor || (there.floor === here.floor && there.room !== here.room)) {
        wrong.push(`${file} imports ${target}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test('no file below the platform floor names Node or a package with a platform in it', () => {
  const allowed = /^(?:zod|hono(?:\/[\w-]+)?)$/;
  const wrong = sourceImports()
    .filter(({ file }) => placeOf(file).floor < PLATFORM_FLOOR)
    .flatMap(({ file, packages }) =>
      packages.filter((name) => !allowed.test(name)).map((name) => `${file}: ${name}`),
    );
  assert.deepEqual(wrong, []);
});

test('no file below the platform floor uses a Node global', () => {
  const wrong = sourceFiles('src')
    .filter(
      ({ path }) => !path.startsWith('src/devices/cpu/kernels/') && placeOf(path).floor < PLATFORM_FLOOR,
    )
    .filter(({ text }) => /(?<![\w.'`/-])(?:process|Buffer)\./.test(text))
    .map(({ path }) => path);
  assert.deepEqual(wrong, []);
});

test('models, state and scheduler reach no device', () => {
  const wrong = sourceImports()
    .filter(({ file }) => PURE.includes(placeOf(file).room))
    .flatMap(({ file, own }) => {
      const room = placeOf(file).room;
      const allowed =
        room === 'model' ? PURE_IMPORTS.filter((name) => name !== 'state') : [room, ...PURE_IMPORTS];
      return own
        .filter((target) => !allowed.includes(placeOf(target).room))
        .map((to) => `${file} imports ${to}`);
    });
  assert.deepEqual(wrong, []);
});

test('there is no circle of imports', () => {
  const graph = new Map(sourceImports().map(({ file, own }) => [file, own]));
  assert.equal(circleIn(graph), undefined);
});
