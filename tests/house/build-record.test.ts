import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';

interface BuildRecord {
  lookAtBuild(root: string): { built: boolean; whole: boolean; inputs: unknown };
  recordBuild(root: string, inputs: unknown): void;
}

const SCRIPT = pathToFileURL(join(PROJECT_ROOT, 'scripts/build-record.mjs')).href;
const { lookAtBuild, recordBuild } = (await import(SCRIPT)) as BuildRecord;

const BUILT = { built: true, whole: true };
const TO_BUILD = { built: false, whole: true };
const FROM_NOTHING = { built: false, whole: false };

/** A project as it lies after a build. */
class Project {
  readonly root: string;

  constructor(t: TestContext) {
    this.root = temporaryFolder(t);
    for (const path of [
      'src/a.ts',
      'src/devices/cpu/kernels/formats.ts',
      'tests/a.test.ts',
      'dist/src/a.js',
      'dist/.tsbuildinfo',
    ])
      this.write(path, 'one');
    this.write('node_modules/.package-lock.json', '{}');
    recordBuild(this.root, lookAtBuild(this.root).inputs);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  touch(path: string): void {
    utimesSync(join(this.root, path), new Date(), new Date(Date.now() + 5000));
  }

  get state(): Omit<ReturnType<BuildRecord['lookAtBuild']>, 'inputs'> {
    const { built, whole } = lookAtBuild(this.root);
    return { built, whole };
  }
}

test('what was built is built, also where only times changed', (t) => {
  const project = new Project(t);
  assert.deepEqual(project.state, BUILT);
  for (const path of ['src/a.ts', 'dist/src/a.js', 'node_modules/.package-lock.json']) {
    project.touch(path);
    assert.deepEqual(project.state, BUILT, path);
  }
});

test('data of tests, and what others put into dist/, change nothing', (t) => {
  const project = new Project(t);
  project.write('tests/fixtures/a.json', '{}');
  project.write('dist/other.txt', 'other');
  project.write('dist/.tsbuildinfo', 'of a check that wrote nothing');
  assert.deepEqual(project.state, BUILT);
});

for (const [what, change] of Object.entries<(project: Project) => void>({
  'a source of the same length': ({ root }) => writeFileSync(join(root, 'src/a.ts'), 'two'),
  'a new source': (project) => project.write('src/b.ts', 'one'),
  'a source that is gone': ({ root }) => rmSync(join(root, 'src/a.ts')),
  'a source of another name': ({ root }) => renameSync(join(root, 'src/a.ts'), join(root, 'src/b.ts')),
  'other packages': (project) => project.write('node_modules/.package-lock.json', '{ }'),
  'packages where none were': ({ root }) => writeFileSync(join(root, 'package-lock.json'), '{}'),
})) {
  test(`${what} is built`, (t) => {
    const project = new Project(t);
    change(project);
    assert.deepEqual(project.state, TO_BUILD);
    recordBuild(project.root, lookAtBuild(project.root).inputs);
    assert.deepEqual(project.state, BUILT);
  });
}

for (const [what, change] of Object.entries<(project: Project) => void>({
  'a fresh clone': ({ root }) => rmSync(join(root, 'dist'), { recursive: true }),
  'a deleted output': ({ root }) => rmSync(join(root, 'dist/src/a.js')),
  'an output that somebody changed': ({ root }) => writeFileSync(join(root, 'dist/src/a.js'), 'two'),
  'a generated source that is gone': ({ root }) => rmSync(join(root, 'src/devices/cpu/kernels/formats.ts')),
  'a damaged record': (project) => project.write('dist/.built.json', '{'),
})) {
  test(`${what} is built from nothing`, (t) => {
    const project = new Project(t);
    change(project);
    assert.deepEqual(project.state, FROM_NOTHING);
  });
}

test('what a compiler refused is built again', (t) => {
  const project = new Project(t);
  recordBuild(project.root, {});
  assert.deepEqual(project.state, TO_BUILD);
});

test('what changes while a build runs is built by the next one', (t) => {
  const project = new Project(t);
  const { inputs } = lookAtBuild(project.root);
  project.write('src/a.ts', 'while it is built');
  recordBuild(project.root, inputs);
  assert.deepEqual(project.state, TO_BUILD);
});
