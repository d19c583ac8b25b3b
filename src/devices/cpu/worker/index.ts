export { type CpuWorkerOptions, runCpuWorker } from './cpu-worker.ts';
