// Builds dist/web: the chat page with everything it needs, to be served from any path. The CPU kernels must have been built.
import { createHash } from 'node:crypto';
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const KERNELS = ['kernels.relaxed.wasm', 'kernels.baseline.wasm'];

const OPTIONS = {
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'linked',
  logLevel: 'warning',
};

/** Scripts lie in `browser/` because they name workers and kernels by address relative to themselves, as in the sources. */
function buildScripts(out) {
  const entryPoints = {
    'browser/app': 'web/app.tsx',
    'browser/bench': 'web/bench.tsx',
    'browser/signed-in': 'web/signed-in.ts',
    'browser/engine-worker': 'src/browser/engine-worker.ts',
    'browser/cpu-worker': 'src/browser/cpu-worker.ts',
    'browser/decode-worker': 'src/browser/decode-worker.ts',
    styles: 'web/styles/index.css',
    bench: 'web/styles/bench.css',
  };
  const inRoot = Object.entries(entryPoints).map(([name, file]) => [name, join(ROOT, file)]);
  return build({
    ...OPTIONS,
    entryPoints: Object.fromEntries(inRoot),
    outdir: out,
    splitting: true,
    chunkNames: 'browser/[name]-[hash]',
  });
}

function copyFiles(out) {
  for (const file of readdirSync(join(ROOT, 'web/static')))
    cpSync(join(ROOT, 'web/static', file), join(out, file));
  mkdirSync(join(out, 'devices/cpu'), { recursive: true });
  for (const kernels of KERNELS) {
    cpSync(join(ROOT, 'dist/src/devices/cpu', kernels), join(out, 'devices/cpu', kernels));
  }
}

/** What is loaded when it is needed, as its makers publish it, in `later/`. */
function copyLater(out) {
  const later = join(out, 'later');
  const modules = join(ROOT, 'node_modules');
  cpSync(join(modules, 'mermaid/dist/mermaid.min.js'), join(later, 'mermaid.js'));
  cpSync(join(modules, 'mermaid/LICENSE'), join(later, 'mermaid.LICENSE.txt'));
  cpSync(join(modules, 'pdfjs-dist/legacy/build/pdf.worker.min.mjs'), join(later, 'pdf.worker.js'));
  cpSync(join(modules, 'pdfjs-dist/LICENSE'), join(later, 'pdf.LICENSE.txt'));
  cpSync(join(modules, 'pdfjs-dist/cmaps'), join(later, 'cmaps'), { recursive: true });
}

/** Of the scripts, what reads PDF is also kept only when it is needed. */
const LATER = /^(?:later\/|browser\/pdf-text-)/;

/** The models of the repository, beside the page, with what tells that they arrived whole. */
function addModels(out) {
  mkdirSync(join(out, 'models'));
  const models = JSON.parse(readFileSync(join(ROOT, 'web/models.json'), 'utf8'));
  const listed = models.map((model) => {
    const source = join(ROOT, 'models', model.file);
    try {
      linkSync(source, join(out, 'models', model.file));
    } catch {
      // Another file system.
      cpSync(source, join(out, 'models', model.file));
    }
    const sha256 = createHash('sha256').update(readFileSync(source)).digest('hex');
    return { ...model, bytes: statSync(source).size, sha256 };
  });
  writeFileSync(join(out, 'models/models.json'), JSON.stringify(listed));
}

/** The service worker knows the page's files by name, and by their hash when they change. */
async function buildServiceWorker(out) {
  const files = readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(gguf|txt)$/.test(entry.name))
    // The API of `model.fetch`, which is large, and which the page does not ask.
    .filter((entry) => !/^server-\w+\.js$/.test(entry.name))
    .map((entry) => relative(out, join(entry.parentPath, entry.name)).replaceAll('\\', posix.sep))
    .sort();
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(join(out, file)));
  const define = {
    SHELL_FILES: JSON.stringify(files.filter((file) => !LATER.test(file))),
    LATER_FILES: JSON.stringify(files.filter((file) => LATER.test(file))),
    SHELL_VERSION: JSON.stringify(hash.digest('hex').slice(0, 16)),
  };
  const entryPoints = [join(ROOT, 'web/service-worker.ts')];
  await build({ ...OPTIONS, format: 'iife', entryPoints, outdir: out, define });
}

/** Writes the page into `out`. */
export async function buildWeb(out = join(ROOT, 'dist/web')) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  copyFiles(out);
  copyLater(out);
  addModels(out);
  await buildScripts(out);
  await buildServiceWorker(out);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb();
