// SwiftShader, a Vulkan driver that computes on the CPU, out of the development dependency @sparticuz/chromium: what WGSL is
// tested on where there is no GPU.
import { createReadStream, existsSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { extract } from 'tar-fs';

const require = createRequire(import.meta.url);

/**
 * The environment in which a process finds SwiftShader as its only Vulkan driver; empty on platforms that the package has none
 * for. `LD_LIBRARY_PATH` is read when a process starts, so that a running one cannot set it for itself. Unpacks the driver
 * below `root`, once a version.
 */
export async function softwareGpuEnvironment(root) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return {};
  const main = require.resolve('@sparticuz/chromium');
  const archive = join(dirname(main), '../../bin/swiftshader.tar.br');
  const { version } = require(join(dirname(main), '../../package.json'));
  const folder = join(root, '.cache', `swiftshader-${version}`);
  if (!existsSync(folder)) {
    const partial = `${folder}.${process.pid}`;
    await pipeline(createReadStream(archive), createBrotliDecompress(), extract(partial));
    try {
      renameSync(partial, folder);
    } catch {
      // Another process was first.
      rmSync(partial, { recursive: true, force: true });
    }
  }
  return {
    LD_LIBRARY_PATH: [folder, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
    VK_DRIVER_FILES: join(folder, 'vk_swiftshader_icd.json'),
  };
}
