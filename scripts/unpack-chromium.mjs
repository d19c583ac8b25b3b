// Chromium, with SwiftShader (a Vulkan driver that computes on the CPU), fonts and the libraries that it needs beyond libc, out
// of the development dependency @sparticuz/chromium: what WGSL and the page are tested on.
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { extract } from 'tar-fs';

const require = createRequire(import.meta.url);
const ARCHIVES = ['swiftshader.tar.br', 'fonts.tar.br', 'al2023.tar.br'];

/** The system's fonts, where it has any, and the package's own: without one no text can be drawn. */
const fontsConfiguration = (folder) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${folder}/fonts</dir>
</fontconfig>
`;

/**
 * The folder with `chromium`, SwiftShader beside it, `lib/` and `fonts/`; undefined on platforms that the package has nothing
 * for. Unpacks it below `root`, once a version.
 */
export async function unpackChromium(root) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const own = join(dirname(require.resolve('@sparticuz/chromium')), '../..');
  const { version } = require(join(own, 'package.json'));
  const folder = join(root, '.cache', `chromium-${version}`);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const unpacked = (name, into) =>
    pipeline(createReadStream(join(own, 'bin', name)), createBrotliDecompress(), into);
  for (const archive of ARCHIVES) await unpacked(archive, extract(partial));
  await unpacked('chromium.br', createWriteStream(join(partial, 'chromium')));
  chmodSync(join(partial, 'chromium'), 0o755);
  writeFileSync(join(partial, 'fonts.conf'), fontsConfiguration(folder));
  try {
    renameSync(partial, folder);
  } catch {
    // Another process was first.
    rmSync(partial, { recursive: true, force: true });
  }
  return folder;
}
