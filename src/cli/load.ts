import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SingleBar } from 'cli-progress';
import { formatBytes } from '../base/bytes.ts';
import type { LanguageModel } from '../engine/language-model.ts';
import type { LoadProgress } from '../load/load-progress.ts';
import { loadModel } from '../node/load-model.ts';
import type { CommandContext } from './command.ts';
import type { DeviceFlags, ModelFlags } from './options.ts';
import type { Output } from './output.ts';
import { PACKAGE_ROOT } from './package-root.ts';

/** The model that comes with the package: MiniMind2-Small, 26M weights, English and Chinese. */
export const BUNDLED_MODEL = fileURLToPath(new URL('models/minimind2-small-q4_k_m.gguf', PACKAGE_ROOT));

/** A model that is ready, and how long that took. The caller disposes the model. */
export interface LoadedModel {
  readonly model: LanguageModel;
  readonly seconds: number;
}

/** Loads the model that the flags name, showing how far it is. */
export async function loadFromFlags(
  flags: ModelFlags & DeviceFlags,
  { output, signal, logger }: CommandContext,
): Promise<LoadedModel> {
  const location = flags.model ?? BUNDLED_MODEL;
  const begin = performance.now();
  const display = progressDisplay(output, basename(location));
  try {
    const { context, batch, cacheType, device, threads } = flags;
    const options = { context, batch, cacheType, device, threads, signal, logger };
    const model = await loadModel(location, { ...options, onProgress: display.show });
    const seconds = (performance.now() - begin) / 1000;
    display.end(seconds);
    return { model, seconds };
  } finally {
    display.clear();
  }
}

interface ProgressDisplay {
  readonly show: (progress: LoadProgress) => void;
  end(seconds: number): void;
  /** Leaves the terminal as it was. */
  clear(): void;
}

function progressDisplay(output: Output, name: string): ProgressDisplay {
  return output.notes && output.stderr.isTTY ? progressBar(output, name) : progressLines(output, name);
}

function progressBar(output: Output, name: string): ProgressDisplay {
  const bar = new SingleBar({
    stream: output.stderr,
    format: `loading ${name} [{bar}] {percentage}% of {size}`,
    barsize: 30,
    clearOnComplete: true,
    hideCursor: true,
    gracefulExit: false,
  });
  return {
    show({ bytes, totalBytes }) {
      if (!bar.isActive) bar.start(totalBytes, 0, { size: formatBytes(totalBytes) });
      bar.update(bytes);
    },
    end() {},
    clear: () => bar.stop(),
  };
}

/** For a log file: a line a second, and one at the end. */
function progressLines(output: Output, name: string): ProgressDisplay {
  let second = 0;
  let total = 0;
  return {
    show({ bytes, totalBytes, seconds }) {
      total = totalBytes;
      if (seconds < second + 1) return;
      second = Math.floor(seconds);
      output.note(`loading ${name}: ${formatBytes(bytes)} of ${formatBytes(totalBytes)}`);
    },
    end: (seconds) => output.note(`loaded ${name}: ${formatBytes(total)} in ${seconds.toFixed(2)} s`),
    clear() {},
  };
}
