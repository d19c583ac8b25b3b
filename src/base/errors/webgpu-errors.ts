import { entry } from './entry.ts';

/** Failures of WebGPU implementations. */
export const webGpuErrors = {
  GPU_REFUSED: entry<{ device: string; why: string }>(
    500,
    'The WebGPU implementation refused a command.',
    'This is a bug of the WebGPU device; please report the message.',
    (p) => `device ${p.device} refused a command: ${p.why}`,
  ),
  SHADER_COMPILE: entry<{ kernel: string; device: string; log: string }>(
    500,
    'A WGSL kernel could not be compiled.',
    'Update the GPU driver or the browser; please report the log.',
    (p) => `kernel ${p.kernel} does not compile on ${p.device}: ${p.log}`,
  ),
} as const;
