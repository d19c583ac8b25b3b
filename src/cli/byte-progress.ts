import { formatBytes } from '../base/bytes.ts';
import type { Output } from './output.ts';
import { Pace, timeText } from './pace.ts';

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
    format: `${doing} ${name} [{bar}] {percentage}% of {size}{pace}`,
    barsize: 30,
    clearOnComplete: true,
    hideCursor: true,
    gracefulExit: false,
  });
  const pace = new Pace();
  return {
    show(bytes, total) {
      const size = formatBytes(total);
      if (!bar.isActive) bar.start(total, 0, { size, pace: '' });
      bar.setTotal(total);
      bar.update(bytes, { size, pace: paceText(pace.at(bytes), total - bytes) });
    },
    end() {},
    clear: () => bar.stop(),
  };
}

/** For a log file: a line per second, and one at the end. */
function progressLines(output: Output, { doing, done, name }: ProgressLabels): ByteProgress {
  const begin = performance.now();
  const pace = new Pace();
  let second = 0;
  let all = 0;
  return {
    show(bytes, total) {
      all = total;
      const rate = pace.at(bytes);
      const seconds = (performance.now() - begin) / 1000;
      if (seconds < second + 1) return;
      second = Math.floor(seconds);
      const so = `${formatBytes(bytes)} of ${formatBytes(total)}`;
      output.note(`${doing} ${name}: ${so}${paceText(rate, total - bytes)}`);
    },
    end: (seconds) => output.note(`${done} ${name}: ${formatBytes(all)} in ${seconds.toFixed(2)} s`),
    clear() {},
  };
}

/** `, 12.3 MiB/s, 1:05 left`. */
function paceText(bytesPerSecond: number | undefined, bytesLeft: number): string {
  if (bytesPerSecond === undefined || bytesPerSecond <= 0) return '';
  return `, ${formatBytes(Math.round(bytesPerSecond))}/s, ${timeText(bytesLeft / bytesPerSecond)} left`;
}
