import { readdirSync, readFileSync } from 'node:fs';
import type { KernelModule } from '../../../src/devices/native/index.ts';
import { FileKernelTexts, KERNEL_FOLDER } from '../../../src/node/file-kernel-texts.ts';
import { TEST_KERNEL_FOLDER } from './emulator.ts';

/** The package's kernel texts and the tests'. */
export const ALL_TEXTS = new FileKernelTexts([KERNEL_FOLDER, TEST_KERNEL_FOLDER]);

/** Headers of a folder of `kernels/` that define what the folder is about. */
function headersWith(folder: string, definition: string): string[] {
  return readdirSync(`${KERNEL_FOLDER}/${folder}`)
    .filter((file) => readFileSync(`${KERNEL_FOLDER}/${folder}/${file}`, 'utf8').includes(definition))
    .map((file) => `"${folder}/${file}"`);
}

const FILE_FORMATS = headersWith('formats', 'struct FileFormat');
const PACKED_FORMATS = headersWith('packed', 'struct PackedFormat');
const ACTIVATION_CODES = Array.from({ length: 10 }, (_, ACTIVATION) => ({ ACTIVATION }));
const ATTENTION = { KEY: 128, VALUE: 128, VECTOR: 8, CACHE_HALF: 1, FORM: 0 };
const PRODUCT = { ACTIVATION: 0, PACKED_FORMAT: '"packed/q4-0.h"' };
const MATVEC = { STAGED: 1, OUTPUTS: 32, ACTIVATION: 0, CACHE_HALF: 1, PACKED_FORMAT: '"packed/q4-0.h"' };

/** The definitions that each text is compiled with; a text that is not named here takes none. */
const DEFINITIONS: Readonly<Record<string, readonly KernelModule['defines'][]>> = {
  'attention.hip': [
    { ...ATTENTION, GROUP: 1, MERGE: 2, FORM: 1 },
    { ...ATTENTION, GROUP: 8, MERGE: 1 },
    { KEY: 20, VALUE: 20, GROUP: 6, VECTOR: 4, CACHE_HALF: 0, FORM: 0, MERGE: 0 },
  ],
  'attention-tiles.hip': [
    { KEY: 128, VALUE: 128, GROUP: 1, KEYS: 32, CACHE_HALF: 1 },
    { KEY: 64, VALUE: 32, GROUP: 4, KEYS: 64, CACHE_HALF: 1 },
  ],
  'decode-halves.hip': PACKED_FORMATS.map((PACKED_FORMAT) => ({ PACKED_FORMAT })),
  'dense-product.hip': FILE_FORMATS.map((FILE_FORMAT) => ({ FILE_FORMAT, ROWS: 4 })),
  'embed.hip': FILE_FORMATS.map((FILE_FORMAT) => ({ FILE_FORMAT })),
  'kv-append.hip': [{ CACHE_HALF: 0 }, { CACHE_HALF: 1 }],
  'matvec.hip': [
    ...PACKED_FORMATS.map((PACKED_FORMAT) => ({ ...MATVEC, PACKED_FORMAT, ROWS: 1, INPUT: 2, OUTPUT: 0 })),
    ...[1, 2, 4, 8].map((ROWS) => ({ ...MATVEC, ROWS, INPUT: 0, OUTPUT: 4 })),
    ...[1, 2, 3].map((OUTPUT) => ({ ...MATVEC, ROWS: 1, INPUT: 1, OUTPUT })),
    { ...MATVEC, ROWS: 4, INPUT: 0, OUTPUT: 0, STAGED: 0 },
  ],
  'finish-product.hip': [0, 1, 2, 3].map((OUTPUT) => ({ OUTPUT, ACTIVATION: 0 })),
  'heads-append.hip': [{ CACHE_HALF: 0 }, { CACHE_HALF: 1 }],
  'product.hip': [
    ...PACKED_FORMATS.map((PACKED_FORMAT) => ({
      PACKED_FORMAT,
      TILE_OUTPUTS: 32,
      TILE_ROWS: 32,
      OUTPUT: 0,
      ACTIVATION: 0,
    })),
    { ...PRODUCT, TILE_OUTPUTS: 32, TILE_ROWS: 16, OUTPUT: 1 },
    { ...PRODUCT, TILE_OUTPUTS: 32, TILE_ROWS: 64, OUTPUT: 2 },
    { ...PRODUCT, TILE_OUTPUTS: 32, TILE_ROWS: 64, OUTPUT: 3 },
  ],
  'to-halves.hip': [{ NORMED: 0 }, { NORMED: 1 }],
  'pack-file.hip': FILE_FORMATS.map((FILE_FORMAT) => ({ FILE_FORMAT })),
  'pack-groups.hip': PACKED_FORMATS.map((PACKED_FORMAT) => ({ PACKED_FORMAT })),
  'unary.hip': ACTIVATION_CODES,
};

/** Every kernel text there is, in each of its variants. */
export const ALL_MODULES: readonly KernelModule[] = [KERNEL_FOLDER, TEST_KERNEL_FOLDER]
  .flatMap((folder) => readdirSync(folder))
  .filter((file) => file.endsWith('.hip'))
  .flatMap((file) => (DEFINITIONS[file] ?? [{}]).map((defines) => ({ file, defines })));
