import type { Architecture } from '../architecture.ts';
import * as architectures from './architectures.ts';

/** Every architecture: one file each, and a line in `architectures.ts`. */
export const ALL_ARCHITECTURES: readonly Architecture[] = Object.values<Architecture>(architectures);
