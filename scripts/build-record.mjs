// What dist/ was built from and what was built, kept beside it: so the next build knows that there is nothing to do without
// starting a compiler. A file is as it was when its time and size are; where they are not, when its contents are.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const RECORD = 'dist/.built.json';

/** What tsc remembers of its last run, which may have written nothing. It emits anew without it, and so it is no output. */
const TSC_RECORD = 'dist/.tsbuildinfo';

/** The build writes them among the sources. */
const GENERATED = ['src/devices/cpu/kernels/formats.ts', 'src/devices/cpu/kernels/format-exports.ts'];

/** What is built from these is built; of tests and benchmarks the rest is data. */
const SOURCES = [
  { folder: 'src', of: (path) => !GENERATED.includes(path) },
  { folder: 'web', of: () => true },
  { folder: 'models', of: () => true },
  { folder: 'scripts', of: () => true },
  { folder: 'tests', of: (path) => path.endsWith('.ts') },
  { folder: 'bench', of: (path) => path.endsWith('.ts') },
];
/** The last one names what npm has installed: the compilers, and the packages whose types are compiled against. */
const SINGLE = ['package.json', 'package-lock.json', 'tsconfig.json', 'node_modules/.package-lock.json'];

function filesIn(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesIn(root, path) : [path];
  });
}

const inputsOf = (root) => [
  ...SOURCES.flatMap(({ folder, of }) => filesIn(root, folder).filter(of)),
  ...SINGLE,
];

const RECORDS = [RECORD, TSC_RECORD];

const outputsOf = (root) => [
  ...filesIn(root, 'dist').filter((path) => !RECORDS.includes(path)),
  ...GENERATED,
];

/** A file's time, size and hash, the hash taken over from `before` where time and size are the same; undefined without a file. */
function stateOf(root, path, before) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (!stat) return undefined;
  const { mtimeMs: time, size } = stat;
  if (before && before.time === time && before.size === size) return before;
  const hash = createHash('sha256')
    .update(readFileSync(join(root, path)))
    .digest('base64');
  return { time, size, hash };
}

/** The states of those files that there are. */
function statesOf(root, paths, before = {}) {
  const states = paths.map((path) => [path, stateOf(root, path, before[path])]);
  return Object.fromEntries(states.filter(([, state]) => state !== undefined));
}

/** Same files with same contents. */
function sameFiles(before, now) {
  const paths = Object.keys(now);
  return (
    paths.length === Object.keys(before).length &&
    paths.every((path) => before[path]?.hash === now[path]?.hash)
  );
}

function read(root) {
  try {
    return JSON.parse(readFileSync(join(root, RECORD), 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * How dist/ stands: `built` when what was built is there and the sources are the same. The inputs are those of this moment: what
 * changes while a build runs belongs to the next one. `whole` is false when something of what was built is missing or changed.
 */
export function lookAtBuild(root) {
  const before = read(root);
  const inputs = statesOf(root, inputsOf(root), before?.inputs);
  if (!before) return { built: false, whole: false, inputs };
  const outputs = statesOf(root, Object.keys(before.outputs), before.outputs);
  const whole = sameFiles(before.outputs, outputs);
  const built = whole && sameFiles(before.inputs, inputs);
  // Times that changed alone cost a hash, once.
  if (built) write(root, { inputs, outputs }, before);
  return { built, whole, inputs };
}

function write(root, record, before) {
  const text = JSON.stringify(record);
  if (before === undefined || text !== JSON.stringify(before)) writeFileSync(join(root, RECORD), text);
}

/** Keeps what was built from `inputs`; nothing is `{}`, where a compiler refused something. */
export function recordBuild(root, inputs) {
  write(root, { inputs, outputs: statesOf(root, outputsOf(root)) });
}
