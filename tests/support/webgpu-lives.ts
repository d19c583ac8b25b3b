// Runs in a separate process: lives of the bundled model on WebGPU; prints one line of JSON per life, and the outcome
// last.
import { modelCycles } from './model-cycles.ts';
import './paced-polls.ts';
import { BUNDLED } from './run-cli.ts';

const [cycles, settling] = process.argv.slice(2).map(Number);
const load = { path: BUNDLED, device: 'webgpu', context: 64, batch: 1 } as const;
const onCycle = (cycle: number, held: object) => console.log(JSON.stringify({ cycle, ...held }));
const outcome = await modelCycles({ ...load, cycles: cycles ?? 1, settling: settling ?? 1, onCycle });
console.log(JSON.stringify(outcome));
