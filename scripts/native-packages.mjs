// Packages with the CPU's native kernels for each platform, compiled here with clang and lld (Debian's clang-19 and lld-19), which need
// neither headers nor libraries of the platform: `node scripts/native-packages.mjs [folder] [platforms, such as linux-arm64, if only those
// are wanted]`, after a build. In the folder (dist/native) lie then the tarballs of the five packages and that of rocmforge itself (where
// platforms are named, if it is, too, with those as its dependencies), which alone names them as optional dependencies: a clone installs without them, and its lock file needs no package
// that is not published yet. They are published in that order, each with `npm publish <tarball>`. None has an install script; npm takes the
// one whose `os` and `cpu` fit.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NATIVE_FLAGS, NATIVE_TEXTS, nativeVariants } from '../dist/src/devices/cpu/index.js';
import { nativeTexts } from '../dist/src/node/native-builder.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const CLANG = process.env.CLANG ?? 'clang++-19';

/** How clang is told of a platform, and what else a library needs there. The kernels have no undefined symbols anywhere. */
const LINUX = { suffix: 'so', flags: ['-fPIC', '-Wl,-s'] };
const DARWIN = { suffix: 'dylib', flags: ['-fPIC', '-Wl,-S'] };
const WINDOWS = { suffix: 'dll', flags: ['-Wl,/noentry'], texts: ['windows.cc'] };

const PLATFORMS = [
  { os: 'linux', cpu: 'x64', target: 'x86_64-linux-gnu', ...LINUX },
  { os: 'linux', cpu: 'arm64', target: 'aarch64-linux-gnu', ...LINUX },
  { os: 'darwin', cpu: 'x64', target: 'x86_64-apple-macosx11', ...DARWIN },
  { os: 'darwin', cpu: 'arm64', target: 'arm64-apple-macosx11', ...DARWIN },
  { os: 'win32', cpu: 'x64', target: 'x86_64-pc-windows-msvc', ...WINDOWS },
];

/** The compiler's flags without those that some targets do not know, and what makes it independent of a C library. */
const FLAGS = [
  ...NATIVE_FLAGS.filter((flag) => flag !== '-fPIC'),
  ...['-ffreestanding', '-fno-stack-protector', '-fuse-ld=lld'],
];

const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Compiles one library into the folder of its package, and says what the manifest says of it. */
function compile({ target, flags, suffix, texts = [] }, { name, of, options, folder, sources }) {
  const file = `${name}.${suffix}`;
  const files = [...of, ...texts].map((text) => join(sources, text));
  execFileSync(CLANG, [
    '-target',
    target,
    ...FLAGS,
    ...flags,
    ...options,
    '-o',
    join(folder, file),
    ...files,
  ]);
  return {
    file,
    sha256: createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex'),
  };
}

/** Writes a platform's package into a folder, and gives its name. */
function writePackage(platform, { texts, folder }) {
  const { os, cpu } = platform;
  const name = `@rocmforge/cpu-${os}-${cpu}`;
  mkdirSync(folder);
  const where = { folder, sources: texts.folder };
  // Asking the operating system for its features takes a symbol of its own library on Linux for ARM, found when it is loaded.
  const features = compile(platform, { name: 'features', of: NATIVE_TEXTS.features, options: [], ...where });
  const libraries = { features };
  for (const { name: variant, flags } of nativeVariants(cpu, os)) {
    const options = os === 'linux' ? [...flags, '-Wl,-z,defs'] : flags;
    libraries[variant] = compile(platform, { name: variant, of: NATIVE_TEXTS.kernels, options, ...where });
  }
  const { version, license, author, homepage, repository, bugs, engines } = own;
  const description = `Native kernels of rocmforge for the CPU, for ${os} on ${cpu}`;
  const files = ['kernels.json', ...Object.values(libraries).map(({ file }) => file)];
  const facts = { name, version, description, license, author, homepage, repository, bugs, engines };
  const write = (path, value) => writeFileSync(join(folder, path), `${JSON.stringify(value, null, 2)}\n`);
  write('package.json', { ...facts, os: [os], cpu: [cpu], files, preferUnplugged: true });
  write('kernels.json', { texts: texts.digest, libraries });
  writeFileSync(
    join(folder, 'README.md'),
    `# ${name}\n\n${description}: an optional dependency of \`rocmforge\`, which finds it by its name.\n`,
  );
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  return name;
}

/** Packs a folder; gives the tarball's path. */
function pack(folder, into) {
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', into];
  const [{ filename }] = JSON.parse(execFileSync('npm', words, { cwd: folder, maxBuffer: 64 << 20 }));
  return join(into, filename);
}

/** The package itself, with the platforms' packages as optional dependencies of exactly this version. */
function packOwn(names, { work, into }) {
  const plain = pack(ROOT, work);
  execFileSync('tar', ['-xzf', plain, '-C', work]);
  const folder = join(work, 'package');
  const native = Object.fromEntries(names.map((name) => [name, own.version]));
  const facts = { ...own, optionalDependencies: { ...own.optionalDependencies, ...native } };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(facts, null, 2)}\n`);
  return pack(folder, into);
}

const [folderName = join(ROOT, 'dist/native'), ...only] = process.argv.slice(2);
const into = resolve(folderName);
mkdirSync(into, { recursive: true });
const work = mkdtempSync(join(tmpdir(), 'native-packages-'));
try {
  const texts = await nativeTexts();
  const names = [];
  const tarballs = [];
  const isKnown = (name) => name === 'rocmforge' || PLATFORMS.some(({ os, cpu }) => name === `${os}-${cpu}`);
  const unknown = only.filter((name) => !isKnown(name));
  if (unknown.length > 0) throw new Error(`no such platform: ${unknown.join(', ')}`);
  const wanted = PLATFORMS.filter(({ os, cpu }) => only.length === 0 || only.includes(`${os}-${cpu}`));
  for (const platform of wanted) {
    const folder = join(work, `${platform.os}-${platform.cpu}`);
    names.push(writePackage(platform, { texts, folder }));
    tarballs.push(pack(folder, into));
  }
  if (only.length === 0 || only.includes('rocmforge')) tarballs.push(packOwn(names, { work, into }));
  for (const path of tarballs) console.log(`${path}: ${statSync(path).size} bytes`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
