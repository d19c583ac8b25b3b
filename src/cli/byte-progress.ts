import { formatBytes } from '../base/bytes.ts';
import type { Output } from './output.ts';

/** Shows the progress in bytes: a bar on a terminal, a line per second in a log, nothing if notes are off. */
export interface ByteProgress {
  readonly show: (bytes: number, total: number) => void;
  /** Reports the total time. */
  end(seconds: number): void;
  /** Restores the terminal. */
  clear(): void;
}

/** The activity (`loading`), its completion (`loaded`), and the file's name. */
export interface ProgressLabels {
  readonly doing: string;
  readonly done: string;
  readonly name: string;
}

/** A progress display on the stream on which `output` shows notes. */
export async function byteProgress(output: Output, labels: ProgressLabels): Promise<ByteProgress> {
  return output.bars ? progressBar(output, labels) : progressLines(output, labels);
}

async function progressBar(output: Output, { doing, name }: ProgressLabels): Promise<ByteProgress> {
  // Loaded only if there is a terminal.
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    stream: output.stderr,
    format: `${doing} ${name} [{bar}] {percentage}% of {size}`,
    barsize: 30,
    clearOnComplete: true,
    hideCursor: true,
    gracefulExit: false,
  });
  return {
    show(bytes, total) {
      if (!bar.isActive) bar.start(total, 0, { size: formatBytes(total) });
      bar.update(bytes);
    },
    end() {},
    clear: () => bar.stop(),
  };
}

/** For a log file: a line per second, and one at the end. */
function progressLines(output: Output, { doing, done, name }: ProgressLabels): ByteProgress {
  const begin = performance.now();
  let second = 0;
  let all = 0;
  return {
    show(bytes, total) {
      all = total;
      const seconds = (performance.now() - begin) / 1000;
      if (seconds < second + 1) return;
      second = Math.floor(seconds);
      output.note(`${doing} ${name}: ${formatBytes(bytes)} of ${formatBytes(total)}`);
    },
    end: (seconds) => output.note(`${done} ${name}: ${formatBytes(all)} in ${seconds.toFixed(2)} s`),
    clear() {},
  };
}
