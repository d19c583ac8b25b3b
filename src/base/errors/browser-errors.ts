import { entry } from './entry.ts';

/** Failures of a browser's storage and of the worker that runs the engine. */
export const browserErrors = {
  STORAGE_UNAVAILABLE: entry<{ why: string }>(
    503,
    'The browser does not let this page store models.',
    'Serve the page over https or from localhost, leave private browsing, or load with keep: false.',
    (p) => `models cannot be stored: ${p.why}`,
  ),
  STORAGE_FULL: entry<{ model: string; bytes: number; free: number }>(
    507,
    'The browser does not allow this page enough storage for a model.',
    'Remove stored models, free disk space, or load with keep: false.',
    (p) => `${p.model} needs ${p.bytes} bytes, the browser leaves this page ${p.free}`,
  ),
  MODEL_NOT_STORED: entry<{ model: string; why: string }>(
    404,
    'The requested model is not stored completely in the browser.',
    'Load it again from its address or file.',
    (p) => `the stored model ${p.model} cannot be used: ${p.why}`,
  ),
  MODEL_IN_USE: entry<{ model: string }>(
    409,
    'A stored model is in use elsewhere: another page is loading, using or removing it.',
    'Dispose the model there, or close that page.',
    (p) => `the stored model ${p.model} is in use`,
  ),
  WORKER_LOST: entry<{ why: string }>(
    500,
    'The worker that ran the model has died.',
    'Load the model again, with a smaller context or a smaller model if memory ran out.',
    (p) => `the engine's worker ended: ${p.why}`,
  ),
} as const;
