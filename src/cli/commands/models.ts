import { formatBytes } from '../../base/bytes.ts';
import { openDevice } from '../../node/devices.ts';
import { cachedModels, readHubSettings } from '../../node/hub/index.ts';
import type { CliCommand } from '../command.ts';
import { type DeviceFlags, deviceOptions, type JsonFlags, jsonOption } from '../options.ts';
import { memoryOf, SUGGESTED_MODELS } from '../suggested-models.ts';
import { tableText } from '../table.ts';

interface ModelsFlags extends DeviceFlags, JsonFlags {}

/** `rocmforge models`: well-known models, and which of them fit this machine. */
export const modelsCommand: CliCommand<ModelsFlags> = {
  options: [...deviceOptions(), jsonOption()],
  examples: [
    ['models', 'some well-known models by size, with their licences'],
    ['models -d cuda --json', 'for a program, by the memory of a GPU'],
  ],
  async run({ flags: { device: name, threads, cpuKernels, gpus, gpuLayers, json } }, { output, logger }) {
    const request = { device: name, threads, cpuKernels, ...gpus, gpuLayers, logger };
    await using device = await openDevice(request);
    // Of a group, each device has a part of the model.
    const free = (device.group?.ranks ?? 1) * (await device.memory()).free;
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
