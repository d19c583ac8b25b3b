export { runCpuWorker } from './cpu-worker.ts';
