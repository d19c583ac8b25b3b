import { fileURLToPath } from 'node:url';
import { serveArguments } from './server-flags.ts';

// Stands in for llama-server's binary: starts `rocmforge serve` in this process, with its own flags in the place of
// llama-server's. ROCMFORGE_STAND_INS is the folder of the models.

const folder = process.env['ROCMFORGE_STAND_INS'];
if (folder === undefined) throw new Error('ROCMFORGE_STAND_INS is not set');
const program = fileURLToPath(new URL('../../src/cli/rocmforge.cjs', import.meta.url));
process.argv = [process.execPath, program, ...serveArguments(process.argv.slice(2), folder)];
console.error(process.argv.join(' '));
await import(program);
