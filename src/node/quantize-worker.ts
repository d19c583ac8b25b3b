import { serveCalls } from '../calls/index.ts';
import { formatOf } from '../formats/index.ts';
import { invariant } from '../base/errors.ts';
import { encodeRows } from '../quantize/encode-rows.ts';
import type { QuantizeCalls } from './quantize-model.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the threads that quantize rows. */
serveCalls<QuantizeCalls>(ownWorkerPort(), {
  encode: async ({ from, to, ...rows }) => {
    const [source, target] = [formatOf(from), formatOf(to)];
    invariant(source && target, 'the formats are known');
    return encodeRows(rows, source, target);
  },
});
