import { baseErrors } from './base-errors.ts';
import { browserErrors } from './browser-errors.ts';
import { deviceErrors } from './device-errors.ts';
import { ggufErrors } from './gguf-errors.ts';
import { grammarErrors } from './grammar-errors.ts';
import { hubErrors } from './hub-errors.ts';
import { ioErrors } from './io-errors.ts';
import { modelErrors } from './model-errors.ts';
import { hipCudaErrors } from './hip-cuda-errors.ts';
import { serverErrors } from './server-errors.ts';
import { textErrors } from './text-errors.ts';
import { toolErrors } from './tool-errors.ts';
import { webGpuErrors } from './webgpu-errors.ts';

/** Every failure that rocmforge reports, by code. `docs/errors.md` is checked against it. */
export const CATALOGUE = {
  ...baseErrors,
  ...ioErrors,
  ...ggufErrors,
  ...textErrors,
  ...grammarErrors,
  ...deviceErrors,
  ...modelErrors,
  ...hipCudaErrors,
  ...toolErrors,
  ...webGpuErrors,
  ...browserErrors,
  ...hubErrors,
  ...serverErrors,
} as const;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof CATALOGUE;

/** The parameters that the message of code `C` takes. */
export type ParamsOf<C extends ErrorCode> = Parameters<(typeof CATALOGUE)[C]['message']>[0];
