/**
 * What other choices of its kernels would make of a step on a GPU of HIP or CUDA: `node dist/bench/tune-step.js [hip|cuda] [shape] [format]
 * [rows ...] [--changes N] [--least percent] [--keep N] [--tries choices]`. Shapes, formats and rows are those of `gpu-step`. Of each kind of launch that
 * takes at least its share of the step (3 %) and has choices (outputs and warps of a block, blocks of a multiprocessor, copies under way),
 * every choice with up to N changes (2) is compiled, and the whole step timed with it; the best (5) are timed again, in turns with the
 * step as it is, and printed with the step's gain and the largest difference of its logits, which tells a choice that is wrong from one
 * that adds up in another order. At last, the best of all kinds together. With `--tries 'WAVES=12; WAVES=8 DEPTH=3'`, only these choices
 * of any kind are tried: what one shape gains by is to hold for others before it is adopted.
 */
import { parseArgs } from 'node:util';
import { Q4_0 } from '../src/formats/index.ts';
import { openHipCuda } from '../src/node/open-hip-cuda.ts';
import { modelOf, shapeCalled, workCalled } from './gpu-step/prepared-step.ts';
import { TUNABLE_KERNELS, tuneStep } from './gpu-step/tuning.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    changes: { type: 'string', default: '2' },
    least: { type: 'string', default: '3' },
    keep: { type: 'string', default: '5' },
    tries: { type: 'string' },
  },
});
const [driver = 'cuda', shapeName = 'llama-2-7b', formatName = Q4_0.name, ...batches] = positionals;
if (driver !== 'hip' && driver !== 'cuda') throw new Error(`${driver} has no choices: hip or cuda`);
/** The definitions of a choice such as `WAVES=8 DEPTH=3`. */
function choiceOf(text: string): Readonly<Record<string, number>> {
  const entries = text
    .trim()
    .split(/\s+/)
    .map((word) => /^([A-Z_]+)=(\d+)$/.exec(word));
  if (entries.includes(null)) throw new Error(`${text} is no choice such as WAVES=8 DEPTH=3`);
  return Object.fromEntries(entries.map((found) => [found?.[1], Number(found?.[2])]));
}

const model = await modelOf(shapeCalled(shapeName), formatName);
await using device = await openHipCuda({ driver, index: 0, kernels: TUNABLE_KERNELS });
console.log(device.info.name, device.info.details);
const limits = {
  changes: Number(values.changes),
  least: Number(values.least) / 100,
  keep: Number(values.keep),
  tries: values.tries?.split(';').map(choiceOf),
};
for (const batch of batches.length > 0 ? batches : ['1']) {
  await tuneStep(device, { model, work: { ...workCalled(batch), dequantized: false }, limits });
}
