import { type ModelHub, modelNameText, type PulledModel, type RemoteModel } from '../node/hub/index.ts';
import { byteProgress } from './byte-progress.ts';
import type { CommandContext } from './command.ts';

/** Pulls a model and shows its progress. Rejects as `ModelHub.pull`. */
export async function pullShown(
  hub: ModelHub,
  text: string,
  { output }: CommandContext,
  {
    connections,
    looked,
  }: { readonly connections?: number | undefined; readonly looked?: RemoteModel | undefined } = {},
): Promise<PulledModel> {
  const name = hub.parse(text);
  const begin = performance.now();
  const labels = { doing: 'pulling', done: 'pulled', name: modelNameText(name) };
  const display = await byteProgress(output, labels);
  let isToldOfWait = false;
  try {
    const pulled = await hub.pull(
      name,
      {
        connections,
        onProgress: ({ phase, bytes, totalBytes }) => {
          if (phase !== 'waiting') return display.show(bytes, totalBytes ?? bytes);
          if (!isToldOfWait) output.note('another process is downloading this file: waiting for it');
          isToldOfWait = true;
        },
      },
      looked,
    );
    display.end((performance.now() - begin) / 1000);
    return pulled;
  } finally {
    display.clear();
  }
}
