import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { serveCalls } from '../calls/index.ts';
import { LanguageModel } from '../engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../model/architectures/index.ts';
import { limitedTotal } from '../plan/memory/stage-fit.ts';
import { detailsOfFile } from '../server/model-details.ts';
import { openDevice } from './devices.ts';
import { shareHostMemory } from './host-memory.ts';
import { modelOptionsOf } from './load-model.ts';
import type { WorkerLoad } from './open-engine.ts';
import type { FactsCalls } from './model-facts.ts';
import { openAdapters } from './open-adapters.ts';
import { openDraft } from './open-draft.ts';
import { openGguf } from './open-gguf.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the thread that finds out what models take and what their files are. */
serveCalls<FactsCalls>(ownWorkerPort(), {
  memory: (load, { signal }) => memoryOf(load, signal),
  details: async ({ location, headers }, { signal }) => {
    await using gguf = await openGguf(location, { http: { ...(headers && { headers }) }, signal });
    return detailsOfFile(gguf);
  },
  digest: async (paths, { signal }) => {
    const hash = createHash('sha256');
    for (const path of paths) {
      for await (const piece of createReadStream(path, { signal })) hash.update(piece as Uint8Array);
    }
    return hash.digest('hex');
  },
});

/** What the memory limit counts of the plan with which the model would be opened, if it had the device for itself. */
async function memoryOf({ location, options, hostMemory }: WorkerLoad, signal: AbortSignal): Promise<number> {
  shareHostMemory(hostMemory);
  const { headers, device: name, threads, cpuKernels } = options;
  const { tensorParallel, pipelineParallel, link, gpuLayers } = options;
  const split = { tensorParallel, pipelineParallel, link, gpuLayers };
  const request = { device: name, threads, cpuKernels, ...split };
  await using gguf = await openGguf(location, { http: { ...(headers && { headers }) }, signal });
  const adapters = await openAdapters(gguf, { ...options, signal });
  await using device = await openDevice(request);
  const draft = options.draft && (await openDraft(options.draft, { ...request, signal }));
  await using _draftFile = draft?.gguf;
  await using _draftDevice = draft && 'device' in draft ? draft.device : undefined;
  const parts = { gguf, device, draft, architectures: ALL_ARCHITECTURES, ...adapters };
  const fit = await LanguageModel.fit(parts, modelOptionsOf({ ...options, signal }), { alone: true });
  return limitedTotal(fit);
}
