import { readFileSync } from 'node:fs';
import { invariant } from '../base/errors.ts';
import { serveCalls } from '../calls/index.ts';
import { formatOf } from '../formats/index.ts';
import { WasmFits } from '../formats/wasm-fits.ts';
import { encodeRows } from '../quantize/encode-rows.ts';
import { packageFile } from './package-file.ts';
import type { QuantizeCalls } from './quantize-model.ts';
import { ownWorkerPort } from './worker-port.ts';

const FITS = '../formats/encoding/fits.wasm';

/** Entry point of the threads that quantize rows. */
const fits = new WasmFits(readFileSync(packageFile(FITS, import.meta.url)));
serveCalls<QuantizeCalls>(ownWorkerPort(), {
  encode: async ({ from, to, ...rows }) => {
    const [source, target] = [formatOf(from), formatOf(to)];
    invariant(source && target, 'the formats are known');
    return encodeRows(rows, { from: source, to: target, fits });
  },
});
