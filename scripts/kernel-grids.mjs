// Writes the grids of the IQ formats as AssemblyScript out of the tables in src/formats, so that they are kept once.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Values an entry, and how many levels a value chooses from. */
const GRIDS = [
  { name: 'IQ2_XXS_GRID', table: 'iq2-xxs-codes', width: 8, levels: 3 },
  { name: 'IQ2_XS_GRID', table: 'iq2-xs-codes', width: 8, levels: 3 },
  { name: 'IQ2_S_GRID', table: 'iq2-s-codes', width: 8, levels: 3 },
  { name: 'IQ3_XXS_GRID', table: 'iq3-xxs-codes', width: 4, levels: 8 },
  { name: 'IQ3_S_GRID', table: 'iq3-s-codes', width: 4, levels: 8 },
  { name: 'IQ1_GRID', table: 'iq1-codes', width: 8, levels: 3 },
];

const INTRODUCTION = `/**
 * Made by scripts/kernel-grids.mjs out of src/formats/tables; change those.
 *
 * The grids of the IQ formats: eight values of 2 bits or four of 3 bits an entry, the first value in the lowest bits. A value
 * is an index into the levels of \`src/formats/codebooks.ts\`.
 */
`;

/** The digits of a code in base \`levels\`, side by side in as many bits as a digit takes. */
function packDigits(code, { width, levels }) {
  const bits = Math.ceil(Math.log2(levels));
  let packed = 0;
  for (let i = 0, rest = code; i < width; i++, rest = Math.floor(rest / levels)) {
    packed |= (rest % levels) << (bits * i);
  }
  return packed;
}

function gridText(root, grid) {
  const source = readFileSync(join(root, 'src/formats/tables', `${grid.table}.ts`), 'utf8');
  const [, base64] = /`([^`]*)`;/.exec(source);
  const bytes = Buffer.from(base64, 'base64');
  const entries = Array.from({ length: bytes.length / 2 }, (_, i) =>
    packDigits(bytes.readUInt16LE(2 * i), grid),
  );
  return `export const ${grid.name}: usize = memory.data<u16>([${entries.join(', ')}]);\n`;
}

/** Writes `grids.ts` beside the kernels of the project at `root`. */
export function writeKernelGrids(root) {
  writeFileSync(
    join(root, 'src/devices/cpu/kernels/grids.ts'),
    INTRODUCTION + GRIDS.map((grid) => gridText(root, grid)).join(''),
  );
}
