import type { Architecture } from '../architecture.ts';
import { llama } from './llama.ts';

/** Every architecture there is. */
export const ALL_ARCHITECTURES: readonly Architecture[] = [llama];
