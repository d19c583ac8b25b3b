import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The program that we are compared with, and the npm packages of its CPU builds. */
const PEER = 'node-llama-cpp';
const VERSION = '3.22.1';
const CPU_BUILDS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'mac-x64',
  'darwin-arm64': 'mac-arm64-metal',
  'win32-x64': 'win-x64',
  'win32-arm64': 'win-arm64',
};

/**
 * Installs node-llama-cpp with the CPU build for this machine below `cache`, once, and returns the path of its module.
 * Scripts do not run and the optional GPU builds are left out: nothing but these npm packages is downloaded.
 */
export function installPeer(cache: string): string {
  const folder = join(cache, 'peer');
  const build = CPU_BUILDS[`${process.platform}-${process.arch}`];
  if (build === undefined) throw new Error(`${PEER} has no build for ${process.platform}-${process.arch}`);
  const packages = [`${PEER}@${VERSION}`, `@${PEER}/${build}@${VERSION}`];
  const stamp = join(folder, `installed-${VERSION}`);
  if (!existsSync(stamp)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const flags = [
      '--no-audit',
      '--no-fund',
      '--no-save',
      '--ignore-scripts',
      '--omit=optional',
      '--omit=dev',
    ];
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
    console.error(`installing ${packages.join(' and ')} into ${folder}`);
    const run = spawnSync(npm, ['install', ...flags, ...packages], { cwd: folder, stdio: ['ignore', 2, 2] });
    if (run.status !== 0) throw new Error(`npm could not install ${packages.join(' and ')}`);
    writeFileSync(stamp, '');
  }
  return join(folder, 'node_modules', PEER, 'dist/index.js');
}
