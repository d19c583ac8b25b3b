import type { Architecture } from '../architecture.ts';
import { OUTPUT } from '../synthetic-family.ts';
import { starcoder2 } from './starcoder2.ts';

/** CodeShell: StarCoder 2's layers, without tied embeddings (Xie et al. 2024). */
export const codeshell: Architecture = {
  names: ['codeshell'],
  configure: (read) => starcoder2.configure(read),
  synthetic: { optional: [OUTPUT, ...(starcoder2.synthetic.optional ?? [])] },
};
