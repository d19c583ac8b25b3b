import { formatBytes } from '../../base/bytes.ts';
import { type Device, memoryShares, totalOf } from '../../device/index.ts';
import { openDevice } from '../../node/devices.ts';
import { cachedModels, readHubSettings } from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { type DeviceFlags, deviceOptions, type JsonFlags, jsonOption } from '../options.ts';
import { memoryOf, SUGGESTED_MODELS } from '../suggested-models.ts';
import { tableText } from '../table.ts';

interface ModelsFlags extends DeviceFlags, JsonFlags {}

/** Free memory for a model: each stage of a pipeline, and each device of a group, has a part of it. */
export async function freeOfAll(device: Device): Promise<number> {
  const stages = device.stages ?? [device];
  const shares = await memoryShares(stages);
  return totalOf(shares.map(({ free }, stage) => (stages[stage]?.group?.ranks ?? 1) * free));
}

/** `rocmforge models`: well-known models, and which of them fit this machine. */
export const modelsCommand: CliCommand<ModelsFlags> = {
  options: [...deviceOptions(), jsonOption()],
  examples: [
    ['models', 'some well-known models by size, with their licences'],
    ['models -d cuda --json', 'for a program, by the memory of a GPU'],
  ],
  async run({ flags: { device: name, gpus, json, ...how } }, { output, logger }) {
    const { threads, cpuKernels, link, gpuLayers } = how;
    const { workers, workerSplit, workerSecret, workerDeadline } = how;
    const split = { ...gpus, link, gpuLayers };
    const others = { workers, workerSplit, workerSecret, workerDeadline };
    const request = { device: name, threads, cpuKernels, ...split, ...others, logger };
    await using device = await openDevice(request);
    const free = await freeOfAll(device);
    const { backend } = device.info;
    const here = (await cachedModels(await readHubSettings())).flatMap((model) =>
      model.name.kind === 'hub' ? [model.name.repo] : [],
    );
    const models = SUGGESTED_MODELS.map((suggested) => {
      const { repo, bytes, ...facts } = suggested;
      const fits = memoryOf(suggested) <= free;
      return { model: `hf:${repo}`, bytes, ...facts, fits, here: here.includes(repo) };
    });
    if (json) {
      await output.json({ device: backend, free, models });
      return undefined;
    }
    const rows = models.map(({ model, parameters, bytes, license, goodFor, ...state }) => [
      model,
      parameters,
      formatBytes(bytes),
      license,
      [state.fits ? 'fits' : 'streams layers', state.here ? 'here' : ''].filter(Boolean).join(', '),
      goodFor,
    ]);
    const columns = [
      ['model', 'left'],
      ['billions', 'right'],
      ['size', 'right'],
      ['licence', 'left'],
      [`on ${backend}`, 'left'],
      ['for', 'left'],
    ] as const;
    const about = `${formatBytes(free)} are free on ${backend}; rocmforge show MODEL plans a model exactly, chat -m MODEL pulls it`;
    await output.write(`${tableText(columns, rows)}${about}\n`);
    return undefined;
  },
};
